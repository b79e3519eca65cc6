import { type Level, type Logger, pino } from 'pino';
import { createRedactor, type Redactor } from '../redaction/redactor.ts';
import { secretsOfVariables } from '../redaction/secrets.ts';

/**
 * Log lines are JSON on standard error, from `level` on, unless `PROCTOR_LOG_LEVEL` says otherwise. No line holds a
 * secret: that of an installation knows the secrets of its project, any other one those of the process's variables.
 */
export function createLogger(
  level: Level,
  redactor: Redactor = createRedactor(secretsOfVariables(process.env)),
): Logger {
  return pino(
    { level: process.env.PROCTOR_LOG_LEVEL ?? level, hooks: { streamWrite: (line) => redactor.text(line) } },
    pino.destination({ dest: 2, sync: true }),
  );
}
