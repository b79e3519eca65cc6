import type { Logger } from 'pino';
import { OpenEnvError, toOpenEnvError } from './openenv-error.ts';
import type { OpenEnvSessions } from './sessions.ts';

/** Converts any error to one of the protocol, and logs an internal one. */
export type ToError = (thrown: unknown) => OpenEnvError;

export function createToError(environment: string, sessions: OpenEnvSessions, logger: Pick<Logger, 'error'>): ToError {
  return (thrown) => {
    const { size, maxSessions } = sessions;
    const told = toOpenEnvError(thrown, { environment, activeSessions: size, maxSessions });
    if (told !== undefined) return told;
    logger.error({ err: thrown }, 'A message of a session could not be answered');
    return new OpenEnvError('EXECUTION_ERROR', "Something failed on the server's side. Its log says what.");
  };
}
