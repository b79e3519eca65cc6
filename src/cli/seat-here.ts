import { createCatalogue } from '../client/catalogue.ts';
import { EnvironmentPool } from '../client/environment-pool.ts';
import { resolveEnvironment } from '../config/find-environments.ts';
import { createHttpApp } from '../http/app.ts';
import { listen } from '../http/listen.ts';
import { createSeatDesk } from '../run-service/seat-desk.ts';
import { PROCTOR_VERSION } from '../runtime/version.ts';
import { toSeat } from '../seats/seat-view.ts';
import { openInstallation } from './installation.ts';
import { createLogger } from './logger.ts';
import { createRunView } from './run-view.ts';
import { scenarioMissing } from './scenario-arguments.ts';
import { type SeatPlan, type SeatSettings, toSeatRequest } from './seat-plan.ts';
import { startTelemetry } from './telemetry.ts';
import { note } from './terminal.ts';

const HOST = '127.0.0.1';
/** Milliseconds for what goes on when the command is stopped. */
const GRACE_MS = 5_000;

/** A seat in this process, with the environments and the database of the working directory. */
export async function openSeatHere(
  environment: string,
  scenario: string | undefined,
  settings: SeatSettings,
  isQuiet: boolean,
): Promise<SeatPlan> {
  const opened: (() => unknown)[] = [];
  const close = async () => {
    for (const end of opened.toReversed()) await end();
  };
  try {
    const installation = await openInstallation();
    opened.push(() => installation[Symbol.asyncDispose]());
    const telemetry = await startTelemetry({ ...installation, warn: note });
    opened.push(() => telemetry[Symbol.asyncDispose]());
    const { name, target } = resolveEnvironment(environment, installation.environments, installation.directory);
    const environments = new Map([[name, target]]);
    const catalogue = createCatalogue(environments);
    opened.push(() => catalogue.close());
    if (scenario === undefined) {
      throw scenarioMissing(name, await catalogue.scenarios(name), `proctor seat ${environment}`);
    }
    const entry = await catalogue.find(name, scenario);
    const request = toSeatRequest(name, entry, settings, environment);
    const pool = new EnvironmentPool({ perEnvironment: 0, report: note });
    opened.push(() => pool.close());
    const { store } = installation;
    const { appUrl } = installation.settings;
    const logger = createLogger('error', installation.redactor);
    const desk = createSeatDesk({
      ...installation,
      environments,
      catalogue,
      logger,
      appUrl,
      now: Date.now,
      pool,
    });
    opened.push(() => desk.close(GRACE_MS));
    const app = createHttpApp({
      title: 'Proctor seat',
      version: PROCTOR_VERSION,
      host: HOST,
      logger,
      routes: [],
      mounts: [...desk.mounts],
    });
    const listener = await listen(app, { host: HOST, port: settings.port ?? 0 });
    opened.push(() => listener.close(GRACE_MS));
    const start = { request, scenario: entry.short_name, account: 'local', keyId: null };
    const held = await desk.seats.open(start, (traceId) => {
      if (!isQuiet) opened.push(store.subscribe(traceId, createRunView()));
    });
    return {
      seat: toSeat(held, held.secret, { base: listener.url, appUrl }),
      async ended(stop) {
        const cancel = () => desk.seats.cancel(held.traceId);
        stop.addEventListener('abort', cancel, { once: true });
        if (stop.aborted) cancel();
        await held.seat.ended;
        const trace = await store.trace(held.traceId);
        if (trace === undefined) throw new Error(`Trace ${held.traceId} is gone: it was deleted while it ran.`);
        return trace;
      },
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
