"""LlamaIndex: a tool that it calls by itself, a stream, and a refusal."""

import json
import os

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from openai import AuthenticationError

url, key, models = os.environ["NARU_URL"], os.environ["NARU_KEY"], os.environ["NARU_MODELS"].split()
more = {"is_chat_model": True, "is_function_calling_model": True, "context_window": 32768}
thinking = {"additional_kwargs": {"reasoning_effort": "medium"}}


def weather(city: str) -> str:
    """The temperature of a city."""
    assert city == "Seoul"
    return "21 °C"


tool = FunctionTool.from_defaults(weather)


def use(model: str) -> dict:
    """Two turns with a tool and thinking, then a stream."""
    naru = OpenAILike(model=model, api_base=url, api_key=key, **more, **thinking)
    history = [ChatMessage(role="user", content="서울 날씨는?")]
    requested = naru.chat_with_tools([tool], chat_history=history)
    (call,) = naru.get_tool_calls_from_response(requested)
    result = str(tool(**call.tool_kwargs))
    tool_call = {"tool_call_id": call.tool_id}
    history += [requested.message, ChatMessage(role="tool", content=result, additional_kwargs=tool_call)]
    response = naru.chat_with_tools([tool], chat_history=history)
    text = "".join(part.delta or "" for part in naru.stream_complete("나루가 뭐야?"))
    return {"tool": response.message.content, "stream": text}


used = [use(model) for model in models]

try:
    OpenAILike(model=models[0], api_base=url, api_key="sk-naru-v1-wrong", **more).complete("?")
    refused = None
except AuthenticationError as error:
    refused = error.status_code

print(json.dumps({"used": used, "refused": refused}))
