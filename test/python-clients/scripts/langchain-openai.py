"""LangChain: a tool, a stream, and a refusal."""

import json
import os

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openai import AuthenticationError

url, key, models = os.environ["NARU_URL"], os.environ["NARU_KEY"], os.environ["NARU_MODELS"].split()


@tool
def weather(city: str) -> str:
    """The temperature of a city."""
    assert city == "Seoul"
    return "21 °C"


def use(model: str) -> dict:
    """Two turns with a tool and thinking, then a stream."""
    naru = ChatOpenAI(model=model, base_url=url, api_key=key, reasoning_effort="medium")
    messages = [HumanMessage("서울 날씨는?")]
    able = naru.bind_tools([weather])
    requested = able.invoke(messages)
    call = requested.tool_calls[0]
    messages += [requested, ToolMessage(weather.invoke(call["args"]), tool_call_id=call["id"])]
    response = able.invoke(messages)
    text = "".join(chunk.text for chunk in naru.stream("나루가 뭐야?"))
    return {"tool": response.text, "stream": text}


used = [use(model) for model in models]

try:
    ChatOpenAI(model=models[0], base_url=url, api_key="sk-naru-v1-wrong").invoke("?")
    refused = None
except AuthenticationError as error:
    refused = error.status_code

print(json.dumps({"used": used, "refused": refused}))
