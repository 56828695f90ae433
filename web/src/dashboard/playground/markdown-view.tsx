import type { MarkedToken, Token, Tokens } from 'marked';
import { createContext, memo, type ReactNode, useContext, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { classNames } from '../../ui/class-names.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import { GrowingMarkdown } from './markdown.ts';

/** The number of the message, for the labels of its code. */
const MessageNumber = createContext(0);

/**
 * What a model wrote, as Markdown. Every element is one of ours: HTML is shown as text, an image as a
 * link to it, and a link leads to the web or to an e-mail address only, so nothing in an answer loads or
 * runs anything.
 */
export function Markdown({ text, number }: { text: string; number: number }) {
  const [markdown] = useState(() => new GrowingMarkdown());
  const { tokens, definitions } = markdown.blocksOf(text.replaceAll(/\r\n?/g, '\n'));
  return (
    <MessageNumber value={number}>
      {/* A link may be defined after its use. */}
      <div key={definitions} className="flex min-w-0 flex-col gap-3 break-words">
        <All tokens={tokens} at="" />
      </div>
    </MessageNumber>
  );
}

interface Nested {
  /** Its place in the answer: `3.1.2` is the second part of the first part of the third block. */
  readonly at: string;
}
/** Text in longer places is shown as it is: nobody reads it, and a browser may not survive it. */
const maxPlaceLength = 64;

function All({ tokens, at }: { tokens: readonly Token[] | undefined } & Nested): ReactNode {
  return (tokens ?? []).map((token, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: tokens are only added at the end.
    <One key={index} token={token as MarkedToken} at={partOf(at, index)} />
  ));
}

function partOf(at: string, index: number): string {
  return at === '' ? `${index + 1}` : `${at}.${index + 1}`;
}

interface OneProps extends Nested {
  readonly token: MarkedToken;
}

/** Rendered again only when its own text has changed. */
const One = memo(
  ({ token, at }: OneProps): ReactNode =>
    at.length > maxPlaceLength ? <Raw text={token.raw} /> : <Element token={token} at={at} />,
  (before, after) => before.token.raw === after.token.raw && before.token.type === after.token.type,
);

function Element({ token, at }: OneProps): ReactNode {
  const inner = 'tokens' in token ? <All tokens={token.tokens} at={at} /> : null;
  switch (token.type) {
    case 'paragraph':
      return <p>{inner}</p>;
    case 'heading':
      return (
        <h2 className={classNames('mt-2 font-semibold first:mt-0', token.depth < 3 && 'text-lg')}>{inner}</h2>
      );
    case 'code':
      return <Code token={token} at={at} />;
    case 'list':
      return <List token={token} at={at} />;
    case 'blockquote':
      return <blockquote className="flex flex-col gap-2 border-l-2 pl-3 text-muted">{inner}</blockquote>;
    case 'table':
      return <Table token={token} at={at} />;
    case 'hr':
      return <hr className="border-t" />;
    case 'strong':
      return <strong className="font-semibold">{inner}</strong>;
    case 'em':
      return <em>{inner}</em>;
    case 'del':
      return <del>{inner}</del>;
    case 'codespan':
      return <code className="rounded-sm bg-subtle px-1 py-0.5 font-mono text-xs">{token.text}</code>;
    case 'br':
      return <br />;
    case 'link':
      return <WebLink href={token.href}>{inner}</WebLink>;
    case 'image':
      return <WebLink href={token.href}>{token.text === '' ? token.href : decoded(token.text)}</WebLink>;
    case 'checkbox':
      return token.checked ? '☑ ' : '☐ ';
    case 'text':
      if (token.tokens !== undefined) return inner;
      return token.escaped === false ? decoded(token.text) : token.text;
    case 'escape':
      return token.text;
    case 'html':
      return /^<br *\/?>$/i.test(token.raw) ? <br /> : <Raw text={token.raw} />;
    default:
      return null;
  }
}

function Raw({ text }: { text: string }) {
  return <span className="whitespace-pre-wrap">{text}</span>;
}

function Code({ token: { lang = '', text }, at }: { token: Tokens.Code } & Nested) {
  const { t } = useTranslation('playground');
  const number = useContext(MessageNumber);
  const [language = ''] = lang.split(/\s/);
  return (
    <CodeBlock label={t('codeOf', { language: language || t('text'), number, index: at })} code={text} />
  );
}

function List({ token: { ordered, start, items, loose }, at }: { token: Tokens.List } & Nested) {
  const look = classNames('flex flex-col pl-6', loose ? 'gap-2' : 'gap-1');
  const listed = items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: items are only added at the end.
    <Item key={index} item={item} at={partOf(at, index)} />
  ));
  if (!ordered) return <ul className={classNames(look, 'list-disc')}>{listed}</ul>;
  return (
    <ol className={classNames(look, 'list-decimal')} start={start === '' ? 1 : start}>
      {listed}
    </ol>
  );
}

const Item = memo(
  ({ item, at }: { item: Tokens.ListItem } & Nested) => (
    <li className={item.task ? '-ml-5 list-none' : undefined}>
      <div className={item.loose ? 'flex flex-col gap-2' : undefined}>
        <All tokens={item.tokens} at={at} />
      </div>
    </li>
  ),
  (before, after) => before.item.raw === after.item.raw && before.item.loose === after.item.loose,
);

function Table({ token: { header, rows }, at }: { token: Tokens.Table } & Nested) {
  const { t } = useTranslation('playground');
  const number = useContext(MessageNumber);
  const cell = 'border-b px-2 py-1 first:pl-0';
  return (
    <section
      aria-label={t('tableOf', { number, index: at })}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must take the focus.
      tabIndex={0}
      className="overflow-x-auto"
    >
      <table className="text-sm">
        <thead>
          <tr>
            {header.map(({ tokens, align }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns stay.
              <th key={index} scope="col" className={classNames(cell, 'font-semibold', aligned(align))}>
                <All tokens={tokens} at={partOf(at, index)} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows are only added at the end.
            <tr key={row}>
              {cells.map(({ tokens, align }, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns stay.
                <td key={index} className={classNames(cell, aligned(align))}>
                  <All tokens={tokens} at={partOf(at, index)} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function aligned(align: Tokens.TableCell['align']): string {
  return align === 'right' ? 'text-right' : align === 'center' ? 'text-center' : 'text-left';
}

/** A link that leads out of Naru; the text alone where the address is of another kind. */
function WebLink({ href, children }: { href: string; children: ReactNode }) {
  const url = URL.parse(href);
  if (url === null || !['https:', 'http:', 'mailto:'].includes(url.protocol)) return children;
  return (
    <a
      href={url.href}
      target="_blank"
      rel="noopener noreferrer nofollow"
      className="text-accent-text underline"
    >
      {children}
    </a>
  );
}

/** Text with its character references (`&lt;`) as characters. */
function decoded(text: string): string {
  return text.replaceAll(/&(?:#\d+|#x[\da-f]+|[a-z]\w*);/gi, (reference) => {
    const page = new DOMParser().parseFromString(reference, 'text/html');
    return page.body.textContent ?? reference;
  });
}
