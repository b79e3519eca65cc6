import { type Level, type Logger, pino } from 'pino';
import { createRedactor, type Redactor } from '../redaction/redactor.ts';
import { secretsOfVariables } from '../redaction/secrets.ts';

/**
 * Log lines are JSON on standard error, from `level` on, unless `PROCTOR_LOG_LEVEL` says otherwise. No line holds a
 * secret: that of an installation knows the secrets of its project, any other one those of the process's variables. `write`
 * takes the lines in the place of standard error.
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
