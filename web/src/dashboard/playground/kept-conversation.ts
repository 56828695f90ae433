import { continueIds, type Message } from './conversation.ts';
import type { Settings } from './settings.ts';

/** What a tab keeps of a conversation over a reload. */
export interface Kept {
  readonly messages: readonly Message[];
  readonly settings: Settings;
  readonly draft: string;
  readonly model: string;
}

/** The number changes with the shape: a conversation of another shape is not read. */
const prefix = 'naru.conversation.1.';

/** The conversation of an account in this tab; null: there is none. */
export function keptConversation(accountId: number): Kept | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(prefix + accountId) ?? 'null') as Kept | null;
    continueIds(kept?.messages ?? []);
    return kept;
  } catch {
    return null;
  }
}

/** Keeps a conversation until the tab closes; without its images where they are too large. */
export function keepConversation(accountId: number, kept: Kept): void {
  const messages = kept.messages.map((message) => ({
    ...message,
    pictures: message.pictures.map((picture) => ({ ...picture, dataUrl: '' })),
  }));
  if (!write(accountId, kept)) write(accountId, { ...kept, messages });
}

function write(accountId: number, kept: Kept): boolean {
  try {
    sessionStorage.setItem(prefix + accountId, JSON.stringify(kept));
    return true;
  } catch {
    return false;
  }
}

/** After the person has signed out. */
export function forgetConversations(): void {
  try {
    for (const name of Object.keys(sessionStorage).filter((one) => one.startsWith(prefix)))
      sessionStorage.removeItem(name);
  } catch {
    // A browser that blocks its storage keeps nothing.
  }
}
