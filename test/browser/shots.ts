import type { Page } from 'playwright-core';

/** One page to render: how to reach it from a new window. */
export interface Shot {
  readonly name: string;
  readonly show: (page: Page) => Promise<void>;
  /** The whole page instead of the window. */
  readonly isWhole: boolean;
}

async function components(page: Page): Promise<void> {
  await page.goto('/dashboard/components');
  await page.locator('svg.chart').nth(2).waitFor();
}

/** Every page that is rendered. */
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
];
