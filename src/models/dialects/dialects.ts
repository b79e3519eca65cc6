import { chatDialect } from './chat/chat-dialect.ts';
import type { Dialect, DialectName } from './dialect.ts';
import { geminiDialect } from './gemini/gemini-dialect.ts';
import { messagesDialect } from './messages/messages-dialect.ts';
import { responsesDialect } from './responses/responses-dialect.ts';

/** Every dialect by its name. */
export const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  chat: chatDialect,
  responses: responsesDialect,
  messages: messagesDialect,
  gemini: geminiDialect,
};
