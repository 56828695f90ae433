"""Pydantic AI: a tool that it calls by itself, a stream, and a refusal."""

import asyncio
import json
import os

from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

url, key, model = os.environ["NARU_URL"], os.environ["NARU_KEY"], os.environ["NARU_MODEL"]


def naru(api_key: str) -> OpenAIChatModel:
    return OpenAIChatModel(model, provider=OpenAIProvider(base_url=url, api_key=api_key))


def weather(city: str) -> str:
    """The temperature of a city."""
    assert city == "Seoul"
    return "21 °C"


async def main() -> dict:
    response = await Agent(naru(key), tools=[weather]).run("서울 날씨는?")
    async with Agent(naru(key)).run_stream("나루가 뭐야?") as stream:
        text = "".join([part async for part in stream.stream_text(delta=True)])
    try:
        await Agent(naru("sk-naru-v1-wrong")).run("?")
        refused = None
    except ModelHTTPError as error:
        refused = error.status_code
    return {"tool": response.output, "stream": text, "refused": refused}


print(json.dumps(asyncio.run(main())))
