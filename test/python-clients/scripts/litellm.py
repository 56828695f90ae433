"""LiteLLM: a tool, a stream, and a refusal."""

import json
import os

from litellm import AuthenticationError, completion

url, key, models = os.environ["NARU_URL"], os.environ["NARU_KEY"], os.environ["NARU_MODELS"].split()
parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
question = [{"role": "user", "content": "나루가 뭐야?"}]


def use(model: str) -> dict:
    """Two turns with a tool and thinking, then a stream."""
    naru = {"api_base": url, "api_key": key, "model": f"openai/{model}"}
    # LiteLLM sends it only for models that it knows, unless it is told to.
    thinking = {"reasoning_effort": "medium", "allowed_openai_params": ["reasoning_effort"]}
    messages = [{"role": "user", "content": "서울 날씨는?"}]
    requested = completion(messages=messages, tools=tools, **thinking, **naru).choices[0].message
    call = requested.tool_calls[0]
    assert json.loads(call.function.arguments) == {"city": "Seoul"}
    messages += [requested, {"role": "tool", "tool_call_id": call.id, "content": "21 °C"}]
    response = completion(messages=messages, tools=tools, **thinking, **naru)
    assert response.usage.cost == response.usage.prompt_tokens + 2 * response.usage.completion_tokens
    stream = completion(messages=question, stream=True, **naru)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    return {"tool": response.choices[0].message.content, "stream": text}


used = [use(model) for model in models]

try:
    completion(messages=question, api_base=url, api_key="sk-naru-v1-wrong", model=f"openai/{models[0]}")
    refused = None
except AuthenticationError as error:
    refused = error.status_code

print(json.dumps({"used": used, "refused": refused}))
