import type { Bilingual } from './messages.ts';

/** The messages of the page API's own refusals. */
export const pageMessages = {
  invalidOrigin: {
    ko: '다른 사이트에서 보낸 요청은 처리하지 않습니다.',
    en: 'Requests from another site are not accepted.',
  },
  foreignHost: (port: number): Bilingual => ({
    ko: `이 주소로는 콘솔을 열 수 없습니다. SSH 터널(\`ssh -L ${port}:localhost:${port} 서버\`)을 연 후 http://127.0.0.1:${port}로 접속해 주세요.`,
    en: `The console cannot be opened at this address. Open an SSH tunnel (\`ssh -L ${port}:localhost:${port} SERVER\`), then go to http://127.0.0.1:${port}.`,
  }),
  sessionRequired: { ko: '로그인이 필요합니다.', en: 'Sign in first.' },
  invalidToken: {
    ko: '운영자 토큰이 올바르지 않거나 만료 또는 폐기되었습니다. `naru operator token create`로 새로 만들어 주세요.',
    en: 'The operator token is wrong, expired or revoked; create another with `naru operator token create`.',
  },
  personRequired: {
    ko: '이 작업은 토큰으로 할 수 없습니다. 운영자가 콘솔에 로그인하거나 `naru` 명령으로 해 주세요.',
    en: 'A token cannot do this; an operator does it in the console or with `naru`.',
  },
  tokenSentOnce: {
    ko: '토큰 원문은 토큰을 만든 응답에 한 번만 보냅니다. 받지 못했다면 이 토큰을 폐기하고 새 토큰을 만들어 주세요.',
    en: 'The token itself is sent once, in the response that created it. If you did not receive it, revoke this token and create another.',
  },
  invalidTokenExpiry: {
    ko: '토큰의 만료 시각은 지금부터 366일 이내여야 합니다.',
    en: 'A token expires in the future, within 366 days.',
  },
  signInRefused: {
    ko: '로그인 정보가 올바르지 않습니다.',
    en: 'The sign-in details are wrong.',
  },
  tooManyAttempts: {
    ko: '로그인을 너무 많이 시도했습니다. 잠시 후 다시 시도해 주세요.',
    en: 'Too many sign-in attempts; retry later.',
  },
  invalidLink: {
    ko: '이미 사용했거나 만료된 링크입니다.',
    en: 'This link was used already or has expired.',
  },
  invalidWebhook: {
    ko: '웹훅 주소는 https://로 시작하는 공개 주소여야 하며, 사용자 이름이나 비밀번호를 포함할 수 없습니다.',
    en: 'A webhook is a public address that begins with https://, without a user or a password.',
  },
  webhookSecretOnce: {
    ko: '웹훅 서명 키는 만든 응답에 한 번만 보냅니다. 받지 못했다면 웹훅을 삭제하고 다시 추가해 주세요.',
    en: 'The signing secret is sent once, in the response that created it. If you did not receive it, delete the webhook and add it again.',
  },
  noMessageTarget: {
    ko: '보낼 곳이 없습니다. 먼저 알림 설정을 저장해 주세요.',
    en: 'There is nowhere to send it: save the settings first.',
  },
  tooManyTests: {
    ko: '테스트는 1분에 5번까지 보낼 수 있습니다. 잠시 후 다시 시도해 주세요.',
    en: 'At most 5 tests are sent in a minute; retry later.',
  },
  noMail: {
    ko: '이 서버에는 메일 서버가 설정되어 있지 않습니다.',
    en: 'No mail server is configured here.',
  },
  invalidEmail: { ko: '올바른 이메일 주소가 아닙니다.', en: 'This is not a valid e-mail address.' },
  emailTaken: {
    ko: '이미 사용 중인 이메일 주소입니다.',
    en: 'This e-mail address is already in use.',
  },
  weakPassword: {
    ko: '비밀번호는 10자 이상 256자 이하로 정해 주세요.',
    en: 'Choose a password of 10 to 256 characters.',
  },
  noPasskeysHere: {
    ko: '이 주소에서는 패스키를 사용할 수 없습니다.',
    en: 'Passkeys cannot be used at this address.',
  },
  providerDecides: {
    ko: '회사 계정으로 로그인하는 운영자는 패스키를 등록할 수 없습니다. 역할은 회사 계정의 그룹이 정합니다.',
    en: 'An operator who signs in with the company account has no passkeys: its groups decide the role.',
  },
  noProvider: {
    ko: '회사 계정 로그인이 설정되어 있지 않습니다.',
    en: 'Sign-in with a company account is not configured.',
  },
  providerAway: {
    ko: '회사 계정 로그인 서버에 연결할 수 없습니다. 잠시 후 다시 시도해 주세요.',
    en: 'The sign-in server of the company account cannot be reached; retry later.',
  },
  confirmationRequired: {
    ko: '보안을 위해 비밀번호를 다시 입력하거나 다시 로그인해 주세요.',
    en: 'Enter your password again, or sign in again.',
  },
  ownerRequired: {
    ko: '소유자로 로그인한 경우에만 할 수 있습니다. 먼저 이메일과 비밀번호를 설정해 주세요.',
    en: 'Only an owner can do this; set an e-mail address and a password first.',
  },
  passkeyRefused: {
    ko: '패스키를 등록하지 못했습니다. 다시 시도해 주세요.',
    en: 'The passkey could not be added; try again.',
  },
  wrongCode: { ko: '인증 코드가 올바르지 않습니다.', en: 'The code is wrong.' },
  totpIsOn: { ko: '2단계 인증을 이미 사용 중입니다.', en: 'Two-factor authentication is on already.' },
  keySentOnce: {
    ko: '키 원문은 키를 만든 응답에 한 번만 보냅니다. 받지 못했다면 이 키를 폐기하고 새 키를 만들어 주세요.',
    en: 'The key itself is sent once, in the response that created it. If you did not receive it, revoke this key and create another.',
  },
  linkSentOnce: {
    ko: '링크는 링크를 만든 응답에 한 번만 보냅니다. 받지 못했다면 새 링크를 만들어 주세요.',
    en: 'A link is sent once, in the response that created it. If you did not receive it, create another.',
  },
  totpSecretSentOnce: {
    ko: '인증 앱에 등록할 비밀값은 한 번만 보냅니다. 2단계 인증 설정을 다시 시작해 주세요.',
    en: 'The secret for the authenticator app is sent once. Start the setup of two-factor authentication again.',
  },
  recoveryCodesSentOnce: {
    ko: '2단계 인증을 켰지만 복구 코드는 한 번만 보냅니다. 받지 못했다면 2단계 인증을 껐다가 다시 켜 주세요.',
    en: 'Two-factor authentication is on, but the recovery codes are sent once. If you did not receive them, turn it off and on again.',
  },
  operatorNameTaken: {
    ko: '같은 이름의 운영자가 이미 있습니다.',
    en: 'Another operator already has this name.',
  },
  lastAdmin: {
    ko: '마지막 관리자입니다. 먼저 다른 관리자를 지정해 주세요.',
    en: 'This is the last admin; assign the role to another operator first.',
  },
  accountClosed: {
    ko: '해지된 계정입니다. 운영자가 다시 열 수 있습니다.',
    en: 'This account is closed; an operator can reopen it.',
  },
  accountOpen: {
    ko: '먼저 계정을 해지해 주세요. 해지한 계정의 개인정보만 삭제할 수 있습니다.',
    en: 'Close the account first: only the person of a closed account is erased.',
  },
  accountHasOwner: {
    ko: '이 계정에는 이미 소유자가 있습니다. 계정의 소유자는 한 명입니다. 다른 사람에게 넘기려면 운영자가 소유자를 교체해야 합니다.',
    en: 'This account has an owner, and an account has one owner. To give it to another person, an operator replaces the owner.',
  },
  noOwnerToReplace: {
    ko: '이 계정에는 아직 소유자가 없습니다. 교체하지 말고 초대해 주세요.',
    en: 'This account has no owner yet; invite the person instead.',
  },
  sameOwner: {
    ko: '이미 이 계정의 소유자인 사람의 이메일 주소입니다.',
    en: 'This is the e-mail address of the present owner.',
  },
  emailOfAnotherAccount: {
    ko: '다른 계정의 소유자가 사용하는 이메일 주소입니다.',
    en: 'An owner of another account uses this e-mail address.',
  },
  roleRequired: {
    ko: '이 작업을 수행할 권한이 없습니다.',
    en: 'Your role does not allow this.',
  },
  aboveLimit: (leftKrw: string) => ({
    ko: `역할의 하루 한도를 넘습니다. 오늘 남은 한도는 ${leftKrw}원입니다.`,
    en: `This exceeds the daily limit of your role; ${leftKrw} won remain today.`,
  }),
  idempotencyKeyRequired: {
    ko: '`Idempotency-Key` 헤더에 UUID를 보내 주세요.',
    en: 'Send a UUID in the header `Idempotency-Key`.',
  },
  outcomeUnknown: {
    ko: '데이터베이스가 변경을 확인해 주지 않아 처리되었는지 알 수 없습니다. 같은 요청을 같은 `Idempotency-Key`로 다시 보내거나, 목록에서 결과를 확인해 주세요.',
    en: 'It is not known whether the change was made: the database did not confirm it. Send the same request again with the same `Idempotency-Key`, or look at the list.',
  },
  idempotencyConflict: {
    ko: '이 `Idempotency-Key`는 다른 요청에 이미 사용되었습니다.',
    en: 'This `Idempotency-Key` was used for another request.',
  },
  changeInProgress: {
    ko: '같은 요청을 처리하고 있습니다. 잠시 후 다시 시도해 주세요.',
    en: 'The same request is still running; retry later.',
  },
  tooLarge: { ko: '요청 본문이 너무 큽니다.', en: 'The request body is too large.' },
  readingTooSlow: {
    ko: '조회가 제한 시간 안에 끝나지 않았습니다. 잠시 후 다시 시도해 주세요.',
    en: 'The query did not end in time; retry later.',
  },
  tooManyWatchers: {
    ko: '실시간 화면을 너무 많이 열었습니다. 다른 창을 닫고 다시 시도해 주세요.',
    en: 'Too many live views are open; close another one and retry.',
  },
  tooManyTopups: (max: number) => ({
    ko: `확인을 기다리는 충전 요청이 이미 ${max}건 있습니다. 기존 요청이 처리된 후 다시 요청해 주세요.`,
    en: `The account already has ${max} pending top-up requests; retry after one of them is decided.`,
  }),
  topupDecided: {
    ko: '이미 처리된 충전 요청입니다.',
    en: 'This top-up request was already decided.',
  },
  amountNotOffered: {
    ko: '카드로 결제할 수 없는 금액입니다. 화면에 표시된 금액 중에서 선택해 주세요.',
    en: 'This amount cannot be paid by card; choose one of those that are shown.',
  },
  tooManyPayments: (max: number) => ({
    ko: `결제를 마치지 않은 주문이 이미 ${max}건 있습니다. 한 시간 후 다시 시도해 주세요.`,
    en: `The account already has ${max} unpaid orders; retry in an hour.`,
  }),
  paymentDiffers: {
    ko: '결제 내용이 주문과 달라 처리하지 않았습니다. 금액을 다시 선택해 결제해 주세요.',
    en: 'The payment differs from the order, so no credit was granted; choose an amount and pay again.',
  },
  paymentRefused: (code: string) => ({
    ko: `결제사가 요청을 거절했습니다(${code}).`,
    en: `The payment provider refused (${code}).`,
  }),
  paymentAway: {
    ko: '결제사가 응답하지 않아 결과를 확인하고 있습니다. 결제가 끝났다면 몇 분 안에 반영됩니다.',
    en: 'The payment provider does not respond. If the payment was made, it takes effect within minutes.',
  },
  refundTooLarge: (leftKrw: string) => ({
    ko: `이 요청의 비용 중 아직 환불할 수 있는 금액은 ${leftKrw}원입니다.`,
    en: `At most ${leftKrw} won of the cost of this request can still be refunded.`,
  }),
  notBilled: {
    ko: '이 계정에 이 ID로 비용이 청구된 요청이 없습니다.',
    en: 'This account has no billed request with this ID.',
  },
  announcementEnds: {
    ko: '공지의 종료 시각은 시작 시각과 현재 시각보다 늦어야 합니다.',
    en: 'The end of an announcement must be after its start and in the future.',
  },
  bankReferenceUsed: {
    ko: '이 은행 거래 번호는 다른 충전 요청에 이미 사용되었습니다.',
    en: 'This bank reference was already used for another top-up request.',
  },
  keyRevokedMeanwhile: {
    ko: '다른 곳에서 폐기된 키입니다. 변경한 내용은 저장하지 않았습니다.',
    en: 'This key was revoked elsewhere; the change was not saved.',
  },
  appMergedHere: {
    ko: '그 앱은 이미 이 앱에 합쳐져 있습니다. 먼저 그 앱을 분리해 주세요.',
    en: 'That app is already merged into this one; separate it first.',
  },
  faultyFile: (faults: string) => ({
    ko: `설정 파일에 오류가 있어 게시할 수 없습니다. ${faults}`,
    en: `The configuration file has errors and cannot be published. ${faults}`,
  }),
  pricesChanged: {
    ko: '그사이 설정 파일이나 게시된 가격이 바뀌었습니다. 변경 내용을 다시 확인해 주세요.',
    en: 'The configuration file or the published prices changed in the meantime; review the changes again.',
  },
  largePriceChange: {
    ko: '가격 하나가 10배 넘게 바뀝니다. 변경 내용을 확인하고 동의해 주세요.',
    en: 'A price changes by more than a factor of ten; review the changes and confirm them.',
  },
  noSyncKey: {
    ko: '설정 파일에 `datasets.sync_key`가 없어 동기화할 수 없습니다.',
    en: 'The configuration has no `datasets.sync_key`, which synchronisation requires.',
  },
  verificationRuns: {
    ko: '이미 원장을 검증하고 있습니다.',
    en: 'A verification of the ledger is already running.',
  },
  notFound: { ko: '찾을 수 없습니다.', en: 'Not found.' },
} as const satisfies Readonly<Record<string, Bilingual | ((...parameters: never[]) => Bilingual)>>;
