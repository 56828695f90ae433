"""LiteLLM: a tool, a stream, and a refusal."""

import json
import os

from litellm import AuthenticationError, completion

naru = {"api_base": os.environ["NARU_URL"], "model": f"openai/{os.environ['NARU_MODEL']}"}
key = os.environ["NARU_KEY"]
parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]

messages = [{"role": "user", "content": "서울 날씨는?"}]
requested = completion(messages=messages, tools=tools, api_key=key, **naru).choices[0].message
call = requested.tool_calls[0]
assert json.loads(call.function.arguments) == {"city": "Seoul"}
messages += [requested, {"role": "tool", "tool_call_id": call.id, "content": "21 °C"}]
response = completion(messages=messages, tools=tools, api_key=key, **naru)
assert response.usage.cost == response.usage.prompt_tokens + 2 * response.usage.completion_tokens

question = [{"role": "user", "content": "나루가 뭐야?"}]
stream = completion(messages=question, stream=True, api_key=key, **naru)
text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)

try:
    completion(messages=question, api_key="sk-naru-v1-wrong", **naru)
    refused = None
except AuthenticationError as error:
    refused = error.status_code

print(json.dumps({"tool": response.choices[0].message.content, "stream": text, "refused": refused}))
