"""LlamaIndex: a tool that it calls by itself, a stream, and a refusal."""

import json
import os

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from openai import AuthenticationError

url, key, model = os.environ["NARU_URL"], os.environ["NARU_KEY"], os.environ["NARU_MODEL"]
more = {"is_chat_model": True, "is_function_calling_model": True, "context_window": 32768}
naru = OpenAILike(model=model, api_base=url, api_key=key, **more)


def weather(city: str) -> str:
    """The temperature of a city."""
    assert city == "Seoul"
    return "21 °C"


tool = FunctionTool.from_defaults(weather)
history = [ChatMessage(role="user", content="서울 날씨는?")]
requested = naru.chat_with_tools([tool], chat_history=history)
(call,) = naru.get_tool_calls_from_response(requested)
result = str(tool(**call.tool_kwargs))
tool_call = {"tool_call_id": call.tool_id}
history += [requested.message, ChatMessage(role="tool", content=result, additional_kwargs=tool_call)]
response = naru.chat_with_tools([tool], chat_history=history)

text = "".join(part.delta or "" for part in naru.stream_complete("나루가 뭐야?"))

try:
    OpenAILike(model=model, api_base=url, api_key="sk-naru-v1-wrong", **more).complete("?")
    refused = None
except AuthenticationError as error:
    refused = error.status_code

print(json.dumps({"tool": response.message.content, "stream": text, "refused": refused}))
