"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const views = {};

  // ---- charts -------------------------------------------------------------------------------------------------

  // A canvas knows no custom properties, so its colours are looked up; an SVG keeps them and follows the theme itself.
  const lookUp = (text) => text.replace(/var\((--[\w-]+)\)/g, (_, name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim());

  function rowsOf(packed, onCanvas) {
    const names = Object.keys(packed);
    if (!names.length) return [];
    const columns = names.map((name) => {
      const column = packed[name];
      const texts = Array.isArray(column) ? null : column.texts;
      const ofTheme = onCanvas && (name === "colour" || name === "on");
      if (texts) {
        const shown = ofTheme ? texts.map(lookUp) : texts;
        return column.rows.map((index) => shown[index]);
      }
      return ofTheme ? column.map(lookUp) : column;
    });
    return columns[0].map((_, row) => Object.fromEntries(names.map((name, at) => [name, columns[at][row]])));
  }

  const tip = $("#tip");
  function showTip(_, event, __, value) {
    if (value === null || value === undefined || value === "" || typeof value !== "object") { tip.hidden = true; return; }
    tip.replaceChildren(...Object.entries(value).filter(([, text]) => text !== "" && text !== "undefined").map(([name, text]) => {
      const line = document.createElement("div");
      const term = document.createElement("b");
      term.textContent = name;
      const what = document.createElement("span");
      what.textContent = text;
      line.append(term, what);
      return line;
    }));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 18}px`;
  }

  async function draw(place) {
    const name = place.dataset.figure;
    try {
      const source = JSON.parse($(`#data-${name}`).textContent);
      const onCanvas = source.renderer === "canvas";
      const spec = onCanvas ? JSON.parse(lookUp(JSON.stringify(source.spec))) : source.spec;
      for (const data of spec.data) {
        if (source.data[data.name]) data.values = rowsOf(source.data[data.name], onCanvas);
      }
      views[name]?.finalize();
      const made = await vegaEmbed(place, spec, { mode: "vega", renderer: source.renderer, actions: false, defaultStyle: false, tooltip: showTip,
        formatLocale: { decimal: ".", thousands: "\u202f", grouping: [3], currency: ["", ""], minus: "\u2212" } });
      views[name] = made.view;
      $("svg, canvas", place).setAttribute("aria-hidden", "true"); // the label of the place speaks for all of it
      place.dataset.drawn = source.renderer;
    } catch (error) {
      console.error(error);
      place.hidden = true;
      const block = place.closest("figure") || document;
      place.nextElementSibling.hidden = false;
      $$("details.numbers", block).forEach((details) => { details.open = true; });
    }
    if (name.startsWith("timeline-")) link();
  }

  // ---- timeline -----------------------------------------------------------------------------------------------

  const timeline = $(".timeline");
  const extent = timeline ? Number(timeline.dataset.extent) : 0;
  let shown = [0, extent];
  let quiet = false;

  function show(low, high, fromBrush = false) {
    const span = Math.min(Math.max(high - low, 1000), extent);
    low = Math.min(Math.max(low, 0), extent - span);
    shown = [low, low + span];
    views["timeline-detail"]?.signal("lo", shown[0]).signal("hi", shown[1]).runAsync();
    const overview = views["timeline-overview"];
    if (overview && !fromBrush) {
      const x = overview.scale("x");
      quiet = true;
      overview.signal("brush_x", span >= extent ? [0, 0] : shown.map((t) => x(t))).runAsync().then(() => { quiet = false; });
    }
    $$(".jumps [data-low]", timeline).forEach((button) => button.setAttribute("aria-pressed",
      String(Math.abs(button.dataset.low - shown[0]) < 1 && Math.abs(button.dataset.high - shown[1]) < 1)));
  }
  const zoom = (factor, at = (shown[0] + shown[1]) / 2) => show(at - (at - shown[0]) * factor, at + (shown[1] - at) * factor);
  const move = (share) => { const by = (shown[1] - shown[0]) * share; show(shown[0] + by, shown[1] + by); };

  function link() {
    const overview = views["timeline-overview"];
    if (overview && !overview.linked) {
      overview.linked = true;
      overview.addSignalListener("brush", (_, value) => {
        if (quiet) return;
        const range = value && value.start_ns;
        show(range ? range[0] : 0, range ? range[1] : extent, true);
      });
    }
    if (shown[0] > 0 || shown[1] < extent) show(...shown);
  }

  if (timeline) {
    const lanes = $(".lanes", timeline);
    const plot = () => { const view = views["timeline-detail"]; const box = lanes.getBoundingClientRect();
      return { left: box.left + (view ? view.origin()[0] : 0), width: view ? view.signal("width") : box.width }; };
    $$(".jumps [data-low]", timeline).forEach((button) => button.addEventListener("click", () =>
      show(Number(button.dataset.low), Number(button.dataset.high))));
    $$(".jumps [data-zoom]", timeline).forEach((button) => button.addEventListener("click", () => zoom(Number(button.dataset.zoom))));
    lanes.addEventListener("keydown", (event) => {
      const act = { ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "+": () => zoom(0.5), "=": () => zoom(0.5),
        "-": () => zoom(2), "0": () => show(0, extent) }[event.key];
      if (act && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); act(); }
    });
    let from = null;
    lanes.addEventListener("pointerdown", (event) => { from = { x: event.clientX, shown: [...shown] }; });
    addEventListener("pointermove", (event) => {
      if (!from) return;
      tip.hidden = true;
      const by = (from.x - event.clientX) / plot().width * (from.shown[1] - from.shown[0]);
      show(from.shown[0] + by, from.shown[1] + by);
    });
    addEventListener("pointerup", () => { from = null; });
    addEventListener("pointercancel", () => { from = null; });
    lanes.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      const { left, width } = plot();
      const at = shown[0] + (event.clientX - left) / width * (shown[1] - shown[0]);
      zoom((event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8, at);
    }, { passive: false });
    lanes.addEventListener("pointerleave", () => { tip.hidden = true; });
  }

  // ---- when to draw: what is near first, the rest when there is time --------------------------------------------

  const places = $$(".chart");
  const waiting = new Set(places);
  let drawing = 0;
  async function drawOnce(place) {
    if (!waiting.delete(place)) return;
    drawing += 1;
    await draw(place);
    drawing -= 1;
    if (!waiting.size && !drawing) document.body.dataset.charts = "drawn";
  }
  const later = window.requestIdleCallback || ((work) => setTimeout(work, 30));
  const drawRest = () => { const next = waiting.values().next().value; if (next) drawOnce(next).then(() => later(drawRest)); };
  if (!waiting.size) document.body.dataset.charts = "drawn";
  const near = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (entry.isIntersecting) { near.unobserve(entry.target); drawOnce(entry.target); }
  }), { rootMargin: "300px" });
  places.forEach((place) => near.observe(place));
  later(drawRest);

  const redrawCanvases = () => places.filter((place) => place.dataset.drawn === "canvas").forEach(draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawCanvases);
  addEventListener("beforeprint", () => { [...waiting].forEach(drawOnce); document.documentElement.dataset.theme = "light"; redrawCanvases(); });
  addEventListener("afterprint", () => { delete document.documentElement.dataset.theme; redrawCanvases(); });

  // ---- tables: find, sort, show all -----------------------------------------------------------------------------

  $$(".table-block").forEach((block) => {
    const table = $("table", block);
    const body = table.tBodies[0];
    const first = Number(table.dataset.first) || Infinity;
    const more = $(".more", block);
    const find = $(".find", block);
    let all = first === Infinity;
    function refresh() {
      const wanted = find ? find.value.trim().toLowerCase() : "";
      let found = 0;
      for (const row of body.rows) {
        const fits = !wanted || row.cells[0].textContent.toLowerCase().includes(wanted);
        if (fits) found += 1;
        row.hidden = !fits || (!all && !wanted && found > first);
      }
      if (more) more.hidden = all || Boolean(wanted);
      if (find) $(".shown", block).textContent = wanted ? `${found} of ${body.rows.length}` : "";
    }
    if (more) more.addEventListener("click", () => { all = true; refresh(); body.rows[first]?.cells[0].scrollIntoView({ block: "nearest" }); });
    if (find) find.addEventListener("input", refresh);
    refresh();

    const heads = $$("thead tr:last-child th", table);
    $$(".sort", table).forEach((button) => button.addEventListener("click", () => {
      const head = button.closest("th");
      const at = heads.indexOf(head);
      const numeric = head.classList.contains("num");
      const down = head.ariaSort ? head.ariaSort !== "descending" : numeric;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => { const text = row.cells[at].dataset.sort; return numeric ? Number(text ?? -Infinity) : text ?? ""; };
      const order = numeric ? (a, b) => key(a) - key(b) : (a, b) => key(a).localeCompare(key(b));
      body.append(...[...body.rows].sort((a, b) => (down ? -order(a, b) : order(a, b))));
      refresh();
    }));
  });

  $$(".clamp").forEach((name) => name.addEventListener("click", () => name.classList.toggle("whole")));

  // ---- copying SQL ----------------------------------------------------------------------------------------------

  const said = $("#said");
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const field = document.createElement("textarea");
      field.value = text;
      field.className = "unseen";
      document.body.append(field);
      field.select();
      const done = document.execCommand("copy");
      field.remove();
      return done;
    }
  }
  $$(".copy").forEach((button) => button.addEventListener("click", async () => {
    const done = await copy($("pre", button.closest(".query")).textContent);
    button.textContent = done ? "Copied" : "Select and copy by hand";
    said.textContent = button.textContent;
    setTimeout(() => { button.textContent = "Copy"; said.textContent = ""; }, 2000);
  }));

  // ---- contents follow the reading ------------------------------------------------------------------------------

  const links = new Map($$(".contents a").map((link) => [link.hash.slice(1), link]));
  const sections = $$("main section").filter((section) => links.has(section.id));
  let pending = false;
  function follow() {
    pending = false;
    const line = innerHeight * 0.3;
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    const current = atEnd ? sections.at(-1) : sections.filter((section) => section.getBoundingClientRect().top <= line).at(-1) || sections[0];
    links.forEach((link) => link.removeAttribute("aria-current"));
    if (current) links.get(current.id).setAttribute("aria-current", "true");
  }
  addEventListener("scroll", () => { if (!pending) { pending = true; requestAnimationFrame(follow); } }, { passive: true });
  follow();
})();
