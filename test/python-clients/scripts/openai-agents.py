"""The OpenAI Agents SDK: a tool that it calls by itself, a stream, and a refusal."""

import asyncio
import json
import os

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI, AuthenticationError
from openai.types.shared import Reasoning

url, key, models = os.environ["NARU_URL"], os.environ["NARU_KEY"], os.environ["NARU_MODELS"].split()
set_tracing_disabled(True)
thinking = ModelSettings(reasoning=Reasoning(effort="medium"))


@function_tool
def weather(city: str) -> str:
    """The temperature of a city."""
    assert city == "Seoul"
    return "21 °C"


def agent(model: str, api_key: str, **more: object) -> Agent:
    """An agent whose model is behind Naru."""
    client = AsyncOpenAI(base_url=url, api_key=api_key)
    return Agent(name="naru", model=OpenAIChatCompletionsModel(model, client), **more)


async def use(model: str) -> dict:
    """Two turns with a tool and thinking, then a stream."""
    response = await Runner.run(agent(model, key, tools=[weather], model_settings=thinking), "서울 날씨는?")
    stream = Runner.run_streamed(agent(model, key), "나루가 뭐야?")
    deltas = [event.data async for event in stream.stream_events() if event.type == "raw_response_event"]
    text = "".join(delta.delta for delta in deltas if delta.type == "response.output_text.delta")
    return {"tool": response.final_output, "stream": text}


async def main() -> dict:
    used = [await use(model) for model in models]
    try:
        await Runner.run(agent(models[0], "sk-naru-v1-wrong"), "?")
        refused = None
    except AuthenticationError as error:
        refused = error.status_code
    return {"used": used, "refused": refused}


print(json.dumps(asyncio.run(main())))
