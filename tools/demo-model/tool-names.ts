import type { Language } from './corpus.ts';

/** The context of questions in real use: greetings, system prompts, unknown questions, tools. */

type ByLanguage = Readonly<Record<Language, readonly string[]>>;

/** Text before a question. */
export const openings: ByLanguage = {
  en: list(`
    please tell me, | please tell me | hey, | question: | can you tell me | so, | i want to know: |
    quick question: | hello! | hi, | ok, | could you tell me, | please,
  `).map((opening) => `${opening} `),
  ko: list(`
    혹시 | 저기요, | 질문: | 그런데 | 안녕하세요. | 안녕! | 궁금한데 | 아 그럼 | 하나만 물어볼게. | 한 문장으로,
  `).map((opening) => `${opening} `),
};

/** Text after a question. */
export const closings: ByLanguage = {
  en: list(`
    ? | ? | ? | ?? | ! | . | _? | _please | _please? | ? Thanks! | ? Answer in one sentence. |
    ? Answer briefly. | ? Reply in English. | ? Explain shortly.
  `).map((closing) => closing.replace('_', ' ')),
  ko: list(`
    ? | ? | ? | ?? | ! | . | _? | 요? | ~ | ? 알려줘 | ? 알려주세요. | ? 한 문장으로 답해줘. | ? 짧게 답해줘. | ? 설명해 주세요.
  `).map((closing) => closing.replace('_', ' ')),
};

/** System prompts as clients send them. */
export const systemPrompts: readonly string[] = list(`
  You are a helpful assistant. | You are a helpful assistant. Answer briefly. |
  Answer in one sentence. | You are an AI assistant. Be concise and polite. Use Markdown. |
  You are a coding agent. Use the tools that you are given. | Reply in the language of the user. |
  당신은 친절한 도우미입니다. | 한국어로 답하세요. | 너는 도움이 되는 조수야. 짧게 답해.
`);

/** Words that are meaningless for this model, for system prompts and unknown questions. */
export const noise: ByLanguage = {
  en: words(`
    the of and to a in that it was for on with as his they be at this from have or by one had not but
    all were when we there can an your which their said if do will each about how up out them then she
    many some so these would other into has more her two like him see time could no make than first
    been now people my made over did down only way find use may water long little very after words
    called just where most know get through back much go new write our used me man too any day
    same right look think also around another came come work three word must because does part even
    place well such here take why things put years different away again off went old number great men
    small every found still between own sea under never
  `),
  ko: words(`
    그리고 하지만 사람 시간 오늘 내일 어제 학교 회사 친구 음식 바다 산 책 영화 음악 사랑 고양이 강아지 자동차 버스 기차 날씨 비 눈 바람 여름 겨울 봄 가을 점심 저녁
    밤 커피 물 빵 밥 김치 집 방 문 창문 컴퓨터 전화 인터넷 파일 코드 함수 변수 프로그램 서울 부산 제주 한국 일본 미국 대통령 역사 수학 과학 문제 숙제 시험 선생님 학생
    아이 엄마 아빠 빨리 천천히 크게 작게 예쁜 나쁜 새로운 오래된 만들어 보여줘 써줘 찾아줘 읽어줘 번역해 요약해 고쳐줘
  `),
};

/** Subjects outside the corpus. */
export const unknownNames: ByLanguage = {
  en: list(`
    france | the capital of france | the weather | a cat | python | a black hole | love | the president |
    the moon | docker | kubernetes | linux | a database | seoul | japan | the population of korea |
    bitcoin | a neural network | the meaning of life | quantum physics | a good restaurant |
    the stock market | pizza | history | an elephant | the speed of light | react | a prime number |
    music | soccer | a horse | google | einstein | a river | rust | mars | gold | 2+2 | x | dna |
    my file | this code | the time
  `),
  ko: list(`
    프랑스 | 프랑스의 수도 | 날씨 | 고양이 | 파이썬 | 블랙홀 | 사랑 | 대통령 | 달 | 도커 | 리눅스 | 데이터베이스 | 서울 | 일본 | 한국 인구 | 비트코인 |
    인공지능 | 인생의 의미 | 양자역학 | 맛집 | 주식 | 피자 | 역사 | 코끼리 | 빛의 속도 | 소수 | 음악 | 축구 | 말 | 구글 | 아인슈타인 | 강 | 화성 | 금 |
    2+2 | 내 파일 | 이 코드 | 지금 시간 | 점심 메뉴 | 여행지
  `),
};

/** Questions about an unknown subject, which replaces `#`. */
export const unknownQuestions: ByLanguage = {
  en: list(`
    what is # | who is # | tell me about # | explain # | how does # work | what does # mean |
    write a poem about # | write a story about # | how do i make # | how much is # | where is # |
    why is # important | do you know # | can you help me with # | what do you think about # |
    how old is # | summarize # | translate # to french | fix # for me | write code for # |
    compare # and me | calculate # | # | when was # made | list # and why | is # good
  `),
  ko: list(`
    # 뭐야 | #가 뭐야 | #이 뭐야 | #는 뭐야 | #란 | # 알려줘 | #에 대해 알려줘 | # 설명해줘 | #에 대해 시를 써줘 | #는 어떻게 만들어 |
    #는 어디에 있어 | #가 왜 중요해 | #는 누구야 | # 추천해줘 | # 요약해줘 | #를 영어로 번역해줘 | # 고쳐줘 | # 계산해줘 | # | #는 언제 생겼어 |
    # 어때 | 오늘 # 어때 | #의 뜻이 뭐야 | # 좋아해 | #는 얼마야 | # 코드를 써줘
  `),
};

/** A purpose of a tool. */
export interface Intent {
  /** Parts of the names of suitable tools. */
  readonly tools: readonly string[];
  /** Questions by language; `#` is the tool's argument, if it has one. */
  readonly questions: ByLanguage;
}

/** The weather; its tools have a place as argument. */
const weather: Intent = {
  tools: list('weather | weather | current_weather | Weather | forecast'),
  questions: {
    en: list(`
      what is the weather in # | what is the weather like in # | how is the weather in # today |
      weather in # | is it raining in # | tell me the weather in # | what is the temperature in #
    `),
    ko: list(
      '# 날씨 어때 | # 날씨 알려줘 | 오늘 # 날씨는 | #의 날씨가 어때 | 지금 # 날씨 | # 기온이 몇 도야 | #에 비가 와',
    ),
  },
};

/** The three purposes for which the model is trained to call a tool; the first has an argument. */
export const intents: readonly [Intent, ...Intent[]] = [
  weather,
  {
    tools: list('time | time | current_time | Time | clock'),
    questions: {
      en: list(`
        what time is it | what is the time | what time is it now | tell me the time | do you have the time |
        current time
      `),
      ko: list(
        '지금 몇 시야 | 몇 시야 | 시간 알려줘 | 지금 시간이 어떻게 돼 | 현재 시각 알려줘 | 몇 시인가요',
      ),
    },
  },
  {
    tools: list('balance | balance | account_balance | Balance | credits'),
    questions: {
      en: list(`
        what is my balance | what is the balance | how much credit do i have | show my balance |
        check my balance | how much is left
      `),
      ko: list(
        '잔액 알려줘 | 내 잔액이 얼마야 | 잔액이 얼마야 | 잔액 보여줘 | 잔액 확인해줘 | 크레딧이 얼마 남았어',
      ),
    },
  },
];

/** Prefixes of the purpose in a tool name. */
export const toolPrefixes: readonly string[] = list(
  'get_ | get_ | get_ |  | get | fetch_ | check_ | lookup_ | my_',
);

/** Suffixes of the purpose in a tool name. */
export const toolSuffixes: readonly string[] = list(' |  |  |  | _tool | _info | _now');

/** Tools for none of the purposes. */
export const otherTools: readonly string[] = list(`
  search | web_search | calculator | send_email | read_file | write_file | bash | list_files |
  get_stock_price | create_event | grep | edit | fetch | todo | run_code | get_user | translate |
  book_flight
`);

/** Parameter names for an argument. */
export const cities: ByLanguage = {
  en: list(`
    Seoul | Busan | Paris | London | Tokyo | New York | Boston | San Francisco | Berlin | Sydney | Jeju |
    Incheon | Beijing | Rome | Madrid | Chicago | Singapore | Los Angeles | Daegu | Moscow | Oslo |
    Vienna | Cairo | Delhi | Mumbai | Toronto | Seattle | Miami | Dublin | Lisbon | Prague | Warsaw |
    Athens | Bangkok | Hanoi | Jakarta | Shanghai | Osaka | Kyoto | Zurich | Munich | Milan | Helsinki |
    Stockholm
  `),
  ko: list(`
    서울 | 부산 | 제주 | 인천 | 대구 | 대전 | 광주 | 파리 | 런던 | 도쿄 | 뉴욕 | 베를린 | 베이징 | 수원 | 강릉 | 춘천 | 울산 | 전주 | 여수 | 세종 |
    포항 | 경주 | 오사카 | 상하이 | 로마 | 시드니 | 하노이 | 방콕 | 모스크바 | 보스턴
  `),
};

/** The response after a tool result. A model of this size cannot repeat the result. */
export const toolAnswers: Readonly<Record<Language, string>> = {
  en: 'The tool has answered; its result stands above.',
  ko: '도구가 답했습니다. 결과는 바로 위에 있습니다.',
};

/** The parts of a text, separated by bars. */
function list(text: string): string[] {
  return text.split('|').map((part) => part.trim());
}

/** The words of a text. */
function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
