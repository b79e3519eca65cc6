import { type Level, type Logger, pino } from 'pino';

/** Log lines are JSON on standard error, from `level` on, unless `PROCTOR_LOG_LEVEL` says otherwise. */
export function createLogger(level: Level): Logger {
  return pino({ level: process.env.PROCTOR_LOG_LEVEL ?? level }, pino.destination({ dest: 2, sync: true }));
}
