"""The OpenAI SDK: a tool, a stream with its usage, its stream helper, and a refusal."""

import json
import os

from openai import AuthenticationError, OpenAI

url, key, models = os.environ["NARU_URL"], os.environ["NARU_KEY"], os.environ["NARU_MODELS"].split()
naru = OpenAI(base_url=url, api_key=key)
parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
question = [{"role": "user", "content": "나루가 뭐야?"}]


def use(model: str) -> dict:
    """Two turns with a tool and thinking, then a stream."""
    messages = [{"role": "user", "content": "서울 날씨는?"}]
    thinking = {"model": model, "tools": tools, "reasoning_effort": "medium"}
    requested = naru.chat.completions.create(messages=messages, **thinking).choices[0].message
    call = requested.tool_calls[0]
    assert json.loads(call.function.arguments) == {"city": "Seoul"}
    messages += [requested, {"role": "tool", "tool_call_id": call.id, "content": "21 °C"}]
    response = naru.chat.completions.create(messages=messages, **thinking)

    options = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = list(naru.chat.completions.create(model=model, messages=question, **options))
    assert chunks[-1].usage.cost > 0
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)

    # The helper concatenates the texts of all deltas.
    with naru.chat.completions.stream(model=model, messages=question) as helped:
        helped_message = helped.get_final_completion().choices[0].message
    assert (helped_message.role, helped_message.content) == ("assistant", text)
    return {"tool": response.choices[0].message.content, "stream": text}


used = [use(model) for model in models]

try:
    wrong = OpenAI(base_url=url, api_key="sk-naru-v1-wrong")
    wrong.chat.completions.create(model=models[0], messages=question)
    refused = None
except AuthenticationError as error:
    refused = error.status_code

print(json.dumps({"used": used, "refused": refused}))
