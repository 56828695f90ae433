"""Instructor: a response in the shape of a class by a tool, whole and streamed, and a refusal."""

import json
import os

import instructor
from instructor.core import InstructorRetryException
from openai import OpenAI
from pydantic import BaseModel

url, key, models = os.environ["NARU_URL"], os.environ["NARU_KEY"], os.environ["NARU_MODELS"].split()
naru = instructor.from_openai(OpenAI(base_url=url, api_key=key))


class Answer(BaseModel):
    """The text of the model."""

    text: str


def request(model: str, question: str) -> dict:
    """The arguments of every call: with thinking, although the tool is forced."""
    messages = [{"role": "user", "content": question}]
    return {"model": model, "messages": messages, "response_model": Answer, "reasoning_effort": "medium"}


def use(model: str) -> dict:
    """A whole response and a streamed one."""
    response, completion = naru.create_with_completion(**request(model, "서울 날씨는?"))
    usage = completion.usage
    assert usage.cost == usage.prompt_tokens + 2 * usage.completion_tokens
    *_, streamed = naru.create_partial(**request(model, "나루가 뭐야?"))
    return {"tool": response.text, "stream": streamed.text}


used = [use(model) for model in models]

try:
    wrong = instructor.from_openai(OpenAI(base_url=url, api_key="sk-naru-v1-wrong"))
    wrong.create(**request(models[0], "?"))
    refused = None
except InstructorRetryException as error:
    refused = 401 if "Error code: 401" in str(error) else None

print(json.dumps({"used": used, "refused": refused}))
