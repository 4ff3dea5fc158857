"use strict";
// Search and filters of a site's index. What is chosen stands in the address, so that a link can carry it.
(() => {
  const find = document.querySelector("#find");
  const selects = [...document.querySelectorAll("select[data-filter]")];
  const rows = [...document.querySelectorAll("#run-rows tr")];
  const shown = document.querySelector("#shown");
  const none = document.querySelector("#none");
  const all = document.querySelector("#all");

  function apply() {
    const words = find.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = selects.filter((select) => select.value);
    let count = 0;
    for (const row of rows) {
      row.hidden = !(words.every((word) => row.dataset.words.includes(word))
        && chosen.every((select) => row.dataset[select.dataset.filter] === select.value));
      if (!row.hidden) count += 1;
    }
    const some = words.length > 0 || chosen.length > 0;
    shown.textContent = some ? `${count} of ${rows.length}` : "";
    none.hidden = count > 0;
    all.hidden = !some;
  }

  function remember() {
    const values = new URLSearchParams();
    if (find.value.trim()) values.set("find", find.value.trim());
    for (const select of selects) if (select.value) values.set(select.dataset.filter, select.value);
    const text = values.toString();
    history.replaceState(null, "", text ? `#?${text}` : location.pathname + location.search);
    apply();
  }

  function recall() {
    const values = new URLSearchParams(location.hash.startsWith("#?") ? location.hash.slice(2) : "");
    find.value = values.get("find") ?? "";
    for (const select of selects) {
      const value = values.get(select.dataset.filter) ?? "";
      select.value = [...select.options].some((option) => option.value === value) ? value : "";
    }
    apply();
  }

  function clear() {
    find.value = "";
    selects.forEach((select) => { select.value = ""; });
    remember();
    find.focus();
  }

  find.form.addEventListener("submit", (event) => event.preventDefault());
  find.addEventListener("input", remember);
  selects.forEach((select) => select.addEventListener("change", remember));
  all.addEventListener("click", clear);
  document.querySelector("#none-all").addEventListener("click", clear);
  // Sorting shows every row again, so the choice is made anew after it.
  document.querySelectorAll("#run-table .sort").forEach((button) => button.addEventListener("click", apply));
  addEventListener("hashchange", () => { if (location.hash.startsWith("#?")) recall(); });
  recall();
})();
