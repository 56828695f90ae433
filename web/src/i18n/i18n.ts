import i18next, { type i18n } from 'i18next';
import { initReactI18next } from 'react-i18next';
import type { Language } from '../format/money.ts';

/** One file for each language and page; a browser loads the namespaces of the pages that it shows. */
const files = import.meta.glob<{ default: Record<string, unknown> }>('./{ko,en}/*.json');
const loaded = new Set<string>(['common']);
const storageKey = 'naru.language';
const fontLimitMs = 2000;

/** The language of the page: `boot.js` chose it before the first paint. */
export function initialLanguage(): Language {
  return document.documentElement.lang === 'en' ? 'en' : 'ko';
}

/** Loads the common texts and starts i18next. */
export async function startI18n(): Promise<i18n> {
  const language = initialLanguage();
  await i18next.use(initReactI18next).init({
    lng: language,
    ns: ['common'],
    defaultNS: 'common',
    resources: { [language]: { common: await load(language, 'common') } },
    interpolation: { escapeValue: false },
    returnNull: false,
  });
  return i18next;
}

/**
 * Loads the fonts of the common texts and of amounts, which have the characters of nearly every page: a
 * text drawn in another font first moves the page. Waits no longer than the limit, on a slow network.
 */
export async function loadFonts(): Promise<void> {
  const texts = `₩${JSON.stringify(i18next.getResourceBundle(i18next.language, 'common'))}`;
  await Promise.race([
    document.fonts.load("1em 'Pretendard Variable'", texts).catch(() => {}),
    new Promise((resolve) => setTimeout(resolve, fontLimitMs)),
  ]);
}

/** Loads the texts of a page before it renders. */
export async function loadNamespace(namespace: string): Promise<void> {
  loaded.add(namespace);
  await ensure(i18next.language, namespace);
}

/** Changes the language of everything on the screen and stores the choice. */
export async function changeLanguage(language: Language): Promise<void> {
  await Promise.all([...loaded].map((namespace) => ensure(language, namespace)));
  await i18next.changeLanguage(language);
  document.documentElement.lang = language;
  try {
    localStorage.setItem(storageKey, language);
  } catch {
    // Storage is blocked: the choice lasts until the page closes.
  }
}

async function ensure(language: string, namespace: string): Promise<void> {
  if (i18next.hasResourceBundle(language, namespace)) return;
  i18next.addResourceBundle(language, namespace, await load(language, namespace));
}

async function load(language: string, namespace: string): Promise<Record<string, unknown>> {
  const file = files[`./${language}/${namespace}.json`];
  if (file === undefined) throw new Error(`no texts of ${namespace} in ${language}`);
  return (await file()).default;
}
