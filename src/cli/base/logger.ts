import { type Level, type Logger, pino } from 'pino';
import { createRedactor, type Redactor } from '../../support/redaction/redactor.ts';
import { secretsOfVariables } from '../../support/redaction/secrets.ts';

/**
 * Creates a logger that writes JSON lines to standard error. `PROCTOR_LOG_LEVEL` overrides `level`. Secrets are
 * redacted: those of the project for an installation, otherwise those of the environment variables. `write` replaces
 * standard error.
 */
export function createLogger(
  level: Level,
  redactor: Redactor = createRedactor(secretsOfVariables(process.env)),
  write?: (line: string) => void,
): Logger {
  const settings = {
    level: process.env.PROCTOR_LOG_LEVEL ?? level,
    hooks: { streamWrite: (line: string) => redactor.text(line) },
  };
  return pino(settings, write === undefined ? pino.destination({ dest: 2, sync: true }) : { write });
}
