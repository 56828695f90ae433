/**
 * The training corpus of the demo model: questions and answers about Naru in English and Korean.
 */

/** The two languages of the corpus. */
export type Language = 'en' | 'ko';

/** One topic in one language: several questions, the plainest first, and the answer. */
export interface Topic {
  readonly language: Language;
  readonly questions: readonly string[];
  readonly answer: string;
}

/** The answer to a question outside the corpus. */
export const fallback: Readonly<Record<Language, string>> = {
  en: 'Sorry, I am only a very small demo model and do not know that. Ask me about Naru, slots, billing or keys.',
  ko: '죄송합니다. 저는 아주 작은 데모 모델이라 그건 잘 모릅니다. 나루, 슬롯, 요금, 키에 대해 물어보세요.',
};

const english = `
what is naru | what does naru do | tell me about naru | explain naru | describe naru | naru |
can you explain what naru is | in one sentence, what is naru | introduce naru
> Naru is an inference gateway that a company runs on its own machines. A naru is a ferry landing: the place where you cross over.

what does the name naru mean | what does naru mean | why is it called naru | where does the name come from |
meaning of naru
> It is a Korean word: a naru is a ferry landing, the place where you cross over. Here, requests cross over to the models.

hello | hi | hey | good morning | good evening | hi there | hello there
> Hello! I am the demo model of Naru. Ask me about slots, billing or keys.

who are you | what are you | what is your name | which model are you | what model is this |
introduce yourself | are you chatgpt
> My name is naru-demo. I am a very small language model that runs on your own machine, so nothing had to be downloaded.

what can you do | help | help me | what can i ask you | what do you know | what should i ask
> I can answer short questions about Naru: slots, billing, keys, limits, streaming and errors.

thank you | thanks | thank you very much | thanks a lot | great, thanks
> You are welcome. Have a nice day!

goodbye | bye | see you later | good night | bye bye
> Goodbye! The landing stays open for you.

how are you | how are you doing | how is it going | are you ok
> Fine, thank you. One thread is all I need.

tell me a joke | make me laugh | do you know a joke | say something funny
> A GPU walks into a bar and says: please wait, I am still loading.

what is a slot | what are slots | explain slots | what does slot mean | how do slots work |
tell me about slots
> A slot is a place on a GPU where one local model runs. Naru starts it when the first request for it comes.

what is model_loading | what does model_loading mean | why do i get 503 model_loading |
the model is loading, what do i do | error 503 model_loading | why is the model not ready
> The local model is still starting. Wait for the seconds in the Retry-After header, then send the request again.

how does billing work | how do i pay | how am i billed | explain billing | how much does it cost |
tell me about billing | what do i pay for
> Billing is prepaid, in won. Each answer takes the price of its tokens from your credit, exactly once.

which currency do you use | what currency is used | can i pay in dollars | is it billed in won |
what is the currency
> Everything is billed in Korean won. Amounts are exact to a millionth of a won.

what is the debt floor | what is the floor of the balance | how far can my balance fall |
explain the debt floor | can my balance be negative
> Requests are refused once your balance is below the debt floor, which is minus 5,000 won by default.

how do i add credit | how do i top up | how can i charge my account | i have no credit left | add credit |
why do i get insufficient_credits
> Ask your operator to run naru credit grant. Keys that were suspended for lack of credit work again at once.

how do i make a key | how do i create a key | how do i get an api key | create a new key | make an api key |
where do i get a key
> Use a management key to create an inference key. The plaintext is shown only once, so keep it safe.

what is a key | what are keys | what kinds of keys are there | what is a management key | explain keys |
tell me about keys | what is an api key
> There are two kinds of keys: inference keys call models, and management keys make and revoke inference keys.

how do i revoke a key | how do i delete a key | my key was stolen | delete a key | i lost my key |
my key leaked
> Revoke the key with a management key: DELETE /api/v1/keys and its hash. It stops working within a second.

what is the limit of a key | how do i limit a key | can a key have a spend limit | what is a key limit |
set a limit for a key | when does the limit reset
> Each key may have its own spend limit in won, which can reset every day, week or month in Seoul time.

how does streaming work | how do i stream | can you stream | what is streaming | explain streaming |
how do i get tokens as they come
> Send stream: true. The answer then comes in chunks as server-sent events, and the last line is [DONE].

what is a candidate | what are candidates | explain candidates | what happens when a model fails |
how does fallback work | what is the chain of candidates
> A candidate is one place that can serve your model. If one fails before the first byte, Naru tries the next.

what is a token | what are tokens | explain tokens | what does token mean
> A token is a small piece of text. Models read and write tokens, and you pay for each one.

what is the context length | how long can a prompt be | how many tokens fit | what is the maximum prompt |
how big is your context
> A local model has a context of 32,768 tokens. The models listing tells it for each model.

how do i use the openai sdk | is it compatible with openai | is naru openai compatible |
can i use the openai client | how do i connect my app
> Yes, the API is compatible with OpenAI. Set base_url to your Naru address with /api/v1, and use your Naru key.

which models are there | what models can i use | list the models | how do i see the models |
which models do you have
> GET /api/v1/models lists every model with its price in won. It needs no key.

what is the rate limit | how many requests can i send | is there a rate limit | why do i get 429 |
what is rate_limit_exceeded
> Each address may send 30 requests a second, with bursts of up to 60. Above that the answer is 429.

what is the ledger | is billing exact | what happens if the server crashes | can i be billed twice |
explain the ledger
> The ledger only grows: one entry for each paid answer, never two, even when the machine loses power.

am i billed for errors | do i pay for failed requests | what does a failed request cost | are errors free
> No. A failed request is recorded at zero cost and takes nothing from your credit.

what is a generation | how do i see what a request cost | where do i see my usage |
what is the generation id
> Each answer has a generation id. GET /api/v1/generation tells its tokens, its cost and who answered.

how do i start naru | how do i run naru | how do i install naru | start naru | how can i try naru
> Run npm start. It brings its own database and this demo model, and prints a key that you can use at once.

can i use vllm | can i use ollama | how do i run my own model | how do i add a model |
can naru run llama-server
> Yes. Name the command of llama-server, vLLM or Ollama as a slot in naru.yaml, and Naru starts it on demand.

do you speak korean | can you speak korean | which languages do you speak | do you speak english
> I speak English and Korean, a little of each.

say this is a test | this is a test | test | ping | testing
> This is a test!
`;

const korean = `
나루가 뭐야 | 나루가 뭐예요 | 나루가 무엇인가요 | 나루는 뭐야 | 나루란 | 나루에 대해 알려줘 | 나루에 대해 설명해줘 | 나루 설명해줘 | 나루 | 나루가 뭔가요 | 나루는 무엇입니까 |
나루를 소개해줘
> 나루는 회사가 자기 서버에서 직접 운영하는 추론 게이트웨이입니다. 나루는 나루터, 곧 강을 건너는 곳을 뜻합니다.

나루가 무슨 뜻이야 | 나루라는 이름은 무슨 뜻이야 | 왜 이름이 나루야 | 나루의 뜻이 뭐야 | 이름의 뜻을 알려줘
> 우리말로 나룻배가 닿는 곳, 곧 강을 건너는 곳이라는 뜻입니다. 여기서는 요청이 모델로 건너갑니다.

안녕 | 안녕하세요 | 안녕하십니까 | 반가워 | 반갑습니다 | 좋은 아침
> 안녕하세요! 저는 나루의 데모 모델입니다. 슬롯, 요금, 키에 대해 물어보세요.

너는 누구야 | 넌 누구니 | 당신은 누구세요 | 이름이 뭐야 | 무슨 모델이야 | 자기소개 해줘 | 누구세요
> 제 이름은 naru-demo입니다. 내려받을 것 없이 이 컴퓨터에서 바로 도는 아주 작은 언어 모델입니다.

뭘 할 수 있어 | 무엇을 할 수 있나요 | 도와줘 | 도움말 | 뭘 물어볼 수 있어 | 무엇을 알아
> 나루에 대한 짧은 질문에 답할 수 있습니다. 슬롯, 요금, 키, 한도, 스트리밍, 오류를 물어보세요.

고마워 | 고맙습니다 | 감사합니다 | 땡큐 | 정말 고마워
> 천만에요. 좋은 하루 보내세요!

잘 가 | 안녕히 계세요 | 다음에 봐 | 잘 자 | 또 봐
> 안녕히 가세요! 나루터는 늘 열려 있습니다.

잘 지내 | 기분이 어때 | 어떻게 지내 | 잘 지내세요
> 네, 잘 지냅니다. 저는 스레드 하나면 충분합니다.

농담 해줘 | 재미있는 얘기 해줘 | 웃긴 얘기 해줘 | 농담 하나 해봐
> GPU가 가게에 들어와서 말했습니다. 잠깐만요, 아직 불러오는 중이에요.

슬롯이 뭐야 | 슬롯이 뭐예요 | 슬롯이 무엇인가요 | 슬롯에 대해 알려줘 | 슬롯 설명해줘 | 슬롯은 뭐야 | 슬롯은 어떻게 동작해
> 슬롯은 로컬 모델 하나가 도는 GPU 자리입니다. 첫 요청이 오면 나루가 켭니다.

model_loading이 뭐야 | model_loading 오류가 나요 | 왜 503이 나와 | 모델이 로딩 중이래 | model_loading은 무슨 뜻이야 | 모델이 준비가 안 됐대
> 로컬 모델이 아직 켜지는 중입니다. Retry-After 헤더의 초만큼 기다렸다가 다시 보내세요.

요금은 어떻게 내 | 요금이 어떻게 되나요 | 과금은 어떻게 돼 | 요금에 대해 알려줘 | 얼마야 | 비용이 얼마나 들어 | 결제는 어떻게 해 | 요금 설명해줘
> 원화로 미리 충전하고, 답변마다 쓴 토큰만큼 정확히 한 번 빠져나갑니다.

어떤 화폐를 써 | 달러로 낼 수 있어 | 원화로 내는 거야 | 화폐 단위가 뭐야 | 통화가 뭐야
> 모든 요금은 원화입니다. 금액은 백만분의 일 원까지 정확합니다.

부채 한도가 뭐야 | 잔액이 마이너스가 될 수 있어 | 잔액은 어디까지 내려가 | 부채 한도 알려줘 | 마이너스 한도가 뭐야
> 잔액이 부채 한도인 마이너스 5,000원보다 낮아지면 요청을 받지 않습니다.

충전은 어떻게 해 | 크레딧을 어떻게 충전해 | 잔액이 부족하대 | 크레딧이 없어 | 충전 방법 알려줘 | 돈을 어떻게 넣어
> 운영자에게 naru credit grant를 부탁하세요. 잔액이 없어 멈춘 키는 바로 다시 동작합니다.

키는 어떻게 만들어 | 키를 만들고 싶어 | API 키를 어떻게 받아 | 키 만드는 법 | 키 발급해줘 | 새 키를 만들려면
> 관리 키로 추론 키를 만듭니다. 원문은 한 번만 보이니 잘 보관하세요.

키가 뭐야 | 키에는 어떤 종류가 있어 | 관리 키가 뭐야 | 키에 대해 알려줘 | 키 설명해줘 | API 키가 뭐야
> 키는 두 가지입니다. 추론 키는 모델을 부르고, 관리 키는 추론 키를 만들고 없앱니다.

키를 어떻게 없애 | 키를 지우고 싶어 | 키를 잃어버렸어 | 키가 유출됐어 | 키 폐기하는 법 | 키 삭제해줘
> 관리 키로 DELETE /api/v1/keys 뒤에 해시를 붙여 폐기하세요. 1초 안에 멈춥니다.

키 한도가 뭐야 | 키에 한도를 걸 수 있어 | 한도는 언제 초기화돼 | 키 한도는 어떻게 정해 | 사용 한도 알려줘
> 키마다 원화 사용 한도를 둘 수 있습니다. 한도는 서울 시간으로 매일, 매주, 매월 초기화됩니다.

스트리밍은 어떻게 해 | 스트리밍이 뭐야 | 스트리밍 돼 | 스트리밍 설명해줘 | 답을 조금씩 받고 싶어
> stream: true를 보내세요. 답이 조각조각 SSE로 오고, 마지막 줄은 [DONE]입니다.

후보가 뭐야 | 후보는 무슨 뜻이야 | 모델이 실패하면 어떻게 돼 | 후보에 대해 알려줘 | 후보 체인이 뭐야
> 후보는 모델을 내어 줄 수 있는 곳 하나입니다. 첫 바이트 전에 실패하면 다음 후보로 넘어갑니다.

토큰이 뭐야 | 토큰이 무엇인가요 | 토큰 설명해줘 | 토큰은 무슨 뜻이야
> 토큰은 글의 작은 조각입니다. 모델은 토큰을 읽고 쓰며, 요금도 토큰마다 냅니다.

컨텍스트 길이가 얼마야 | 프롬프트는 얼마나 길 수 있어 | 몇 토큰까지 돼 | 최대 길이가 얼마야
> 로컬 모델의 컨텍스트는 32,768토큰입니다. 모델마다 목록에 적혀 있습니다.

OpenAI SDK를 쓸 수 있어 | OpenAI와 호환돼 | 오픈AI 클라이언트를 써도 돼 | 내 앱을 어떻게 연결해
> 네, OpenAI와 호환됩니다. base_url을 나루 주소와 /api/v1로 바꾸고 나루 키를 쓰세요.

어떤 모델이 있어 | 모델 목록 보여줘 | 무슨 모델을 쓸 수 있어 | 모델은 어디서 봐 | 모델 목록은 어떻게 봐
> GET /api/v1/models에 모든 모델과 원화 가격이 있습니다. 키 없이도 볼 수 있습니다.

요청 제한이 있어 | 몇 번까지 보낼 수 있어 | 왜 429가 나와 | 초당 몇 번이야 | 속도 제한이 뭐야
> 주소마다 초당 30번, 짧게는 60번까지 보낼 수 있습니다. 넘으면 429입니다.

원장이 뭐야 | 과금이 정확해 | 서버가 죽으면 어떻게 돼 | 두 번 청구될 수 있어 | 원장 설명해줘
> 원장은 늘어나기만 합니다. 값을 치른 답마다 한 줄이고, 전원이 꺼져도 두 줄이 되지 않습니다.

오류도 돈을 내 | 실패한 요청도 과금돼 | 실패하면 돈이 나가 | 오류는 무료야
> 아니요. 실패한 요청은 0원으로 기록되고 크레딧에서 아무것도 빠지지 않습니다.

사용량은 어디서 봐 | 요청 하나가 얼마였는지 어떻게 봐 | 사용 내역 보여줘 | 생성 기록이 뭐야
> 답변마다 생성 번호가 있습니다. GET /api/v1/generation에서 토큰과 비용을 볼 수 있습니다.

나루를 어떻게 시작해 | 나루는 어떻게 실행해 | 나루 설치 방법 | 나루를 켜려면 | 나루를 써 보고 싶어
> npm start를 실행하세요. 데이터베이스와 이 데모 모델이 함께 켜지고, 바로 쓸 키가 나옵니다.

vLLM을 쓸 수 있어 | Ollama도 돼 | 내 모델을 돌리려면 | 모델을 어떻게 추가해 | 모델 추가하는 법
> 네. naru.yaml의 슬롯에 llama-server, vLLM, Ollama의 명령을 적으면 나루가 필요할 때 켭니다.

한국어 할 줄 알아 | 한국말 해 | 어떤 언어를 할 수 있어 | 영어도 할 줄 알아
> 한국어와 영어를 조금씩 합니다.

테스트 | 테스트입니다 | 시험 중 | 핑
> 테스트 잘 받았습니다!
`;

/** All topics, one per language. */
export const topics: readonly Topic[] = [...topicsIn('en', english), ...topicsIn('ko', korean)];

/** Parses blocks of questions, separated by bars, each with its answer after `>`. */
function topicsIn(language: Language, text: string): Topic[] {
  return text
    .trim()
    .split('\n\n')
    .map((block) => {
      const [questions = '', answer = ''] = block.split('\n> ');
      return { language, questions: questions.split('|').map((question) => question.trim()), answer };
    });
}
