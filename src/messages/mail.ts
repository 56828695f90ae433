import type { Config } from '../config/config.ts';

/** A mail server, as the configuration states it. */
export type MailSettings = NonNullable<Config['mail']>;

/** One e-mail of plain text. */
export interface Mail {
  /** The same in every attempt, so that a mailbox can recognize a repeated one. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly language: string;
}

const connectTimeoutMs = 10_000;
const idleTimeoutMs = 20_000;

/** Why a message cannot be sent, as an identifier: it has no words of a server, and no language. */
export class MailError extends Error {}

/**
 * Sends one mail to one address, on a connection of its own. Without `security: none` nothing is sent
 * before the connection is encrypted and the certificate of the server accepted. Throws a `MailError`.
 */
export async function sendMail(settings: MailSettings, mail: Mail): Promise<void> {
  const { createTransport } = await import('nodemailer');
  const { host, port, security, user, password, from } = settings;
  const transport = createTransport({
    host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    ...(user === null || password === null ? {} : { auth: { user, pass: password.reveal() } }),
    connectionTimeout: connectTimeoutMs,
    greetingTimeout: connectTimeoutMs,
    socketTimeout: idleTimeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    await transport.sendMail({
      // Objects: a text would be read as a list of addresses.
      from: { name: 'Naru', address: from },
      to: { name: '', address: mail.to },
      subject: mail.subject,
      text: mail.text,
      messageId: `<${mail.id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
      headers: { 'Auto-Submitted': 'auto-generated', 'Content-Language': mail.language },
    });
  } catch (error) {
    const { code = 'unknown', responseCode = '' } = error as {
      readonly code?: string;
      readonly responseCode?: number;
    };
    throw new MailError(`SMTP ${code} ${responseCode}`.trim(), { cause: error });
  } finally {
    transport.close();
  }
}
