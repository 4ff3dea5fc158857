import torch

from capture.prompt import random_prompt, text_prompt, token_digest


def test_random_prompts_come_from_the_seed_and_stay_in_the_vocabulary():
    ids = random_prompt(50, 2, 400, seed=1)
    assert ids.shape == (2, 400)
    assert ids.dtype == torch.int64
    assert (int(ids.min()), int(ids.max())) == (0, 49)
    assert torch.equal(ids, random_prompt(50, 2, 400, seed=1))
    assert not torch.equal(ids, random_prompt(50, 2, 400, seed=2))
    assert not torch.equal(ids[0], ids[1])


def test_a_text_fills_every_sequence():
    class Tokenizer:
        def __call__(self, text, return_tensors):
            assert return_tensors == "pt"

            class Encoding:
                input_ids = torch.tensor([[ord(letter) for letter in text]])

            return Encoding

    assert text_prompt(Tokenizer(), "hi", 3).tolist() == [[104, 105]] * 3


def test_digests_tell_tokens_apart_and_not_types():
    ids = torch.tensor([[1, 2, 3]])
    assert token_digest(ids) == token_digest(ids.to(torch.int32))
    assert token_digest(ids) != token_digest(torch.tensor([[1, 2, 4]]))
