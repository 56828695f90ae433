"""Pydantic AI: a tool that it calls by itself, a stream, and a refusal."""

import asyncio
import json
import os

from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
from pydantic_ai.providers.openai import OpenAIProvider

url, key, models = os.environ["NARU_URL"], os.environ["NARU_KEY"], os.environ["NARU_MODELS"].split()
thinking = OpenAIChatModelSettings(openai_reasoning_effort="medium")


def naru(model: str, api_key: str) -> OpenAIChatModel:
    return OpenAIChatModel(model, provider=OpenAIProvider(base_url=url, api_key=api_key))


def weather(city: str) -> str:
    """The temperature of a city."""
    assert city == "Seoul"
    return "21 °C"


async def use(model: str) -> dict:
    """Two turns with a tool and thinking, then a stream."""
    agent = Agent(naru(model, key), tools=[weather], model_settings=thinking)
    response = await agent.run("서울 날씨는?")
    async with Agent(naru(model, key)).run_stream("나루가 뭐야?") as stream:
        text = "".join([part async for part in stream.stream_text(delta=True)])
    return {"tool": response.output, "stream": text}


async def main() -> dict:
    used = [await use(model) for model in models]
    try:
        await Agent(naru(models[0], "sk-naru-v1-wrong")).run("?")
        refused = None
    except ModelHTTPError as error:
        refused = error.status_code
    return {"used": used, "refused": refused}


print(json.dumps(asyncio.run(main())))
