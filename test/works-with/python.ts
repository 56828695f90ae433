import type { Client } from './client.ts';

const library = { registry: 'PyPI', kind: 'library', language: 'py', file: null, remark: null } as const;

/** The client of the dialect's owner, in Python. */
export const pythonOpenai: Client = {
  ...library,
  name: 'OpenAI SDK (Python)',
  package: 'openai',
  brief: 'OpenAI(base_url=…, api_key=…)',
  remark: 'The response has `response.usage.cost`, in won.',
  app: 'OpenAI SDK (Python)',
  snippet: `from openai import OpenAI

naru = OpenAI(base_url="http://127.0.0.1:8787/api/v1", api_key="sk-naru-v1-…")
messages = [{"role": "user", "content": "나루가 뭐야?"}]
response = naru.chat.completions.create(model="naru/demo", messages=messages)
print(response.choices[0].message.content)
`,
};

/** LangChain for Python. */
export const pythonLangchain: Client = {
  ...library,
  name: 'LangChain (Python), `ChatOpenAI`',
  package: 'langchain-openai',
  brief: 'ChatOpenAI(model=…, base_url=…, api_key=…)',
  app: 'OpenAI SDK (Python)',
  snippet: `from langchain_openai import ChatOpenAI

base_url = "http://127.0.0.1:8787/api/v1"
naru = ChatOpenAI(model="naru/demo", base_url=base_url, api_key="sk-naru-v1-…")
print(naru.invoke("나루가 뭐야?").text)
`,
};

/** LlamaIndex, by the class that needs no list of known models. */
export const llamaIndex: Client = {
  ...library,
  name: 'LlamaIndex, `OpenAILike`',
  package: 'llama-index-llms-openai-like',
  brief: 'OpenAILike(model=…, api_base=…, api_key=…, is_chat_model=True)',
  remark:
    'Without `is_chat_model=True` LlamaIndex uses `/completions`, which has no tools. `is_function_calling_model=True` lets it offer tools; `context_window` is 3,900 tokens unless set.',
  app: 'OpenAI SDK (Python)',
  snippet: `from llama_index.llms.openai_like import OpenAILike

api_base = "http://127.0.0.1:8787/api/v1"
more = {"is_chat_model": True, "is_function_calling_model": True, "context_window": 32768}
naru = OpenAILike(model="naru/demo", api_base=api_base, api_key="sk-naru-v1-…", **more)
print(naru.complete("나루가 뭐야?"))
`,
};

/** LiteLLM as a client. */
export const litellm: Client = {
  ...library,
  name: 'LiteLLM',
  package: 'litellm',
  brief: 'completion(model="openai/…", api_base=…, api_key=…)',
  remark:
    'The prefix `openai/` of the model selects the protocol. Set `LITELLM_LOCAL_MODEL_COST_MAP=True`, or LiteLLM downloads a price list at each start; `completion_cost()` does not know the prices of Naru, `response.usage.cost` has the won.',
  app: 'OpenAI SDK (Python)',
  snippet: `from litellm import completion

naru = {"api_base": "http://127.0.0.1:8787/api/v1", "api_key": "sk-naru-v1-…"}
messages = [{"role": "user", "content": "나루가 뭐야?"}]
response = completion(model="openai/naru/demo", messages=messages, **naru)
print(response.choices[0].message.content)
`,
};

/** Instructor: responses in the shape of a class, by a tool that the model must call. */
export const instructor: Client = {
  ...library,
  name: 'Instructor',
  package: 'instructor',
  brief: 'instructor.from_openai(OpenAI(base_url=…, api_key=…))',
  remark: 'The model must be able to call tools; the demo model is not.',
  app: 'OpenAI SDK (Python)',
  snippet: `import instructor
from openai import OpenAI
from pydantic import BaseModel

class Answer(BaseModel):
    text: str

naru = instructor.from_openai(OpenAI(base_url="http://127.0.0.1:8787/api/v1", api_key="sk-naru-v1-…"))
messages = [{"role": "user", "content": "나루가 뭐야?"}]
print(naru.create(model="naru/demo", messages=messages, response_model=Answer).text)
`,
};

/** Pydantic AI. */
export const pydanticAi: Client = {
  ...library,
  name: 'Pydantic AI',
  package: 'pydantic-ai-slim',
  brief: 'OpenAIChatModel(…, provider=OpenAIProvider(base_url=…, api_key=…))',
  remark: '`pydantic-ai` with all its extras, or `pydantic-ai-slim[openai]` alone.',
  app: 'Pydantic AI',
  snippet: `from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

provider = OpenAIProvider(base_url="http://127.0.0.1:8787/api/v1", api_key="sk-naru-v1-…")
naru = Agent(OpenAIChatModel("naru/demo", provider=provider))
print(naru.run_sync("나루가 뭐야?").output)
`,
};

/** The OpenAI Agents SDK, by chat completions: its default needs `/responses`. */
export const openaiAgents: Client = {
  ...library,
  name: 'OpenAI Agents SDK (Python)',
  package: 'openai-agents',
  brief: 'OpenAIChatCompletionsModel(…, AsyncOpenAI(base_url=…, api_key=…))',
  remark:
    'Without `set_tracing_disabled(True)` it sends traces of every run to OpenAI. `OpenAIChatCompletionsModel` is needed: its default model uses `/responses`.',
  app: 'OpenAI Agents SDK',
  snippet: `from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)
client = AsyncOpenAI(base_url="http://127.0.0.1:8787/api/v1", api_key="sk-naru-v1-…")
naru = Agent(name="naru", model=OpenAIChatCompletionsModel("naru/demo", client))
print(Runner.run_sync(naru, "나루가 뭐야?").final_output)
`,
};

/**
 * aider, which requests no tools: the model responds with whole files or with what to replace in
 * them.
 */
export const aider: Client = {
  name: 'aider',
  package: 'aider-chat',
  registry: 'PyPI',
  kind: 'agent',
  brief: 'OPENAI_API_BASE, OPENAI_API_KEY, --model openai/…',
  language: 'sh',
  file: null,
  remark:
    'The model needs the prefix `openai/`. `--no-show-model-warnings` keeps aider from warning about an unknown model.',
  app: 'OpenAI SDK (Python)',
  snippet: `export OPENAI_API_BASE=http://127.0.0.1:8787/api/v1
export OPENAI_API_KEY=sk-naru-v1-…
aider --model openai/naru/demo
`,
};
