import type { Page } from 'playwright-core';

/** A view that is more than an address: how to reach it from a new window. */
export interface Shot {
  readonly name: string;
  readonly show: (page: Page) => Promise<void>;
  /** The whole page instead of the window. */
  readonly isWhole: boolean;
  /** An owner has signed in, whose account has a few requests of several apps. */
  readonly isSignedIn?: boolean;
}

/** A page with its chart. */
function charted(name: string, path: string): Shot {
  return {
    name,
    show: async (page) => {
      await page.goto(`/dashboard${path}`);
      await page.locator('svg.chart').first().waitFor();
    },
    isWhole: true,
  };
}

async function components(page: Page): Promise<void> {
  await page.goto('/dashboard/components');
  await page.locator('svg.chart').nth(2).waitFor();
}

/** A question and its answer in the playground. */
async function playground(page: Page): Promise<void> {
  await page.goto('/dashboard/playground');
  const box = page.getByRole('textbox', { name: /^(?:메시지|Message)$/ });
  await box.fill('나루가 무슨 뜻인가요?');
  await box.press('Enter');
  await page.getByText(/^(?:요청 기록 보기|View request)$/).waitFor();
}

/** What is rendered beside every page of both applications. */
export const shots: readonly Shot[] = [
  { name: 'components', show: components, isWhole: true },
  {
    name: 'components-dialog',
    show: async (page) => {
      await components(page);
      await page.getByRole('button', { name: /^(?:확인 요청|Confirm)$/ }).click();
      await page.getByRole('dialog').waitFor();
    },
    isWhole: false,
  },
  {
    name: 'sign-in',
    show: async (page) => {
      await page.goto('/dashboard/sign-in');
      await page
        .getByRole('button', { name: /^(?:관리 키로 로그인|Sign in with a management key)$/ })
        .waitFor();
    },
    isWhole: false,
  },
  charted('rankings-models', '/rankings?view=models'),
  {
    name: 'palette',
    show: async (page) => {
      await page.goto('/dashboard/keys');
      await page.getByRole('main').getByText('batch').waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: /^(?:검색|Search)$/ }).fill('na');
      await page.getByRole('option', { name: 'naru/away' }).waitFor();
    },
    isWhole: false,
    isSignedIn: true,
  },
  {
    name: 'menu',
    show: async (page) => {
      await page.goto('/dashboard/rankings');
      await page.getByRole('heading', { level: 1 }).waitFor();
      const opener = page.getByRole('button', { name: /^(?:메뉴 열기|Open the menu)$/ });
      if (await opener.isVisible()) await opener.click();
    },
    isWhole: false,
    isSignedIn: true,
  },
  {
    name: 'statement-print',
    show: async (page) => {
      await page.goto('/dashboard/statement');
      await page.getByRole('article').waitFor();
      await page.emulateMedia({ media: 'print' });
      // A4 without its margins.
      await page.setViewportSize({ width: 672, height: 1000 });
    },
    isWhole: true,
    isSignedIn: true,
  },
  { name: 'playground', show: playground, isWhole: false, isSignedIn: true },
  {
    name: 'playground-code',
    show: async (page) => {
      await playground(page);
      await page.getByRole('button', { name: /^(?:코드 보기|View code)$/ }).click();
      await page.getByRole('dialog').waitFor();
    },
    isWhole: false,
    isSignedIn: true,
  },
];
