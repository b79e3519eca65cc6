import type { Logger } from 'pino';
import { PROCESS_VARIABLES } from '../../../contract/names.ts';
import type { EnvironmentTarget } from '../../../environment/client/environment-client.ts';
import type { EngineName } from '../../../environment/sandbox/engine.ts';
import type { SandboxSettings } from '../../../environment/sandbox/open-engine.ts';
import { type Loop, startLoop } from '../../../support/runtime/loop.ts';
import { PERIODS_MS } from '../../../support/runtime/periods.ts';

/** Milliseconds for an engine to list and to remove. */
const SWEEP_MS = 45_000;

/**
 * Removes sandboxes of this database whose process is gone, at once and every minute. Nothing happens where no engine
 * answers. The engines are loaded by the first look.
 */
export function startSandboxSweep(environments: ReadonlyMap<string, EnvironmentTarget>, logger: Logger): Loop {
  return startLoop({
    async look(signal) {
      const { parseSandboxSettings } = await import('../../../environment/sandbox/open-engine.ts');
      const texts = new Set([...environments.values()].map(settingsText));
      for (const text of texts) {
        if (text !== undefined) await sweep(parseSandboxSettings(text), logger, signal);
      }
    },
    restMs: PERIODS_MS.sandboxes,
    looksAtOnce: true,
    onError: (error) => logger.error({ err: error }, 'Sandboxes that were left over could not be looked for'),
  });
}

/** The settings of sandboxes that the process of an environment gets. */
function settingsText(target: EnvironmentTarget): string | undefined {
  return 'env' in target ? target.env?.[PROCESS_VARIABLES.sandbox] : undefined;
}

async function sweep(settings: SandboxSettings, logger: Logger, signal: AbortSignal): Promise<void> {
  const { owner, engine } = settings;
  if (owner === undefined) return;
  const names: readonly EngineName[] = engine === undefined ? ['bubblewrap', 'docker'] : [engine];
  for (const name of names) await sweepOne(name, { ...settings, owner }, logger, signal);
}

async function sweepOne(
  name: EngineName,
  settings: SandboxSettings & { readonly owner: string },
  logger: Logger,
  stopped: AbortSignal,
): Promise<void> {
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(SWEEP_MS)]);
  const [{ openEngine }, { removeLeftOver }] = await Promise.all([
    import('../../../environment/sandbox/open-engine.ts'),
    import('../../../environment/sandbox/sessions/left-over.ts'),
  ]);
  try {
    const engine = await openEngine(name, settings);
    try {
      const removals = await removeLeftOver(engine, settings.owner, signal);
      for (const { record, error } of removals) {
        const fields = { engine: name, sandbox: record.id, run: record.labels.run };
        if (error === undefined) logger.warn(fields, 'A sandbox whose process is gone was removed');
        else logger.error({ ...fields, err: error }, 'A sandbox whose process is gone could not be removed');
      }
    } finally {
      await engine.close();
    }
  } catch (error) {
    // Most machines lack an engine. The environments that need one tell of it.
    logger.debug({ err: error, engine: name }, 'An engine of sandboxes was not asked for left-over ones');
  }
}
