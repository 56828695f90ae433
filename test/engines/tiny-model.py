"""Writes a tiny Llama with random weights, and its tokenizer, into a folder, for `transformers serve`.

It generates whole words, so that its text has a stop sequence wherever a word ends.
"""

import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

folder = sys.argv[1]
special = ["<end>", "<system>", "<user>", "<assistant>", "<tool>"]
ends = ("a", "e", "i", "o", "u", "an", "el", "ir", "os", "um")
words = [f" {first}{end}" for first in "bdfghjklmnprst" for end in ends]
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
trainer = trainers.BpeTrainer(
    vocab_size=1000,
    special_tokens=special,
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    show_progress=False,
)
tokenizer.train_from_iterator(words * 10, trainer)
wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>")
wrapped.chat_template = (
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}<end>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
wrapped.save_pretrained(folder)
# Weights this large make every next word another one.
config = LlamaConfig(
    vocab_size=len(wrapped),
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    max_position_embeddings=4096,
    initializer_range=0.5,
    bos_token_id=None,
    eos_token_id=wrapped.eos_token_id,
)
torch.manual_seed(1)
model = LlamaForCausalLM(config)
# It generates nothing but words, and ends where the caller says: at a limit or a stop sequence.
whole = {tokenizer.encode(word).ids[0] for word in words if len(tokenizer.encode(word).ids) == 1}
assert len(whole) == len(words)
with torch.no_grad():
    for token in set(range(len(wrapped))) - whole:
        model.lm_head.weight[token] = 0
model.save_pretrained(folder)
