import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EnvironmentTarget } from '../../../environment/client/environment-client.ts';
import { describeHeld, type HeldKey, KeyWatch, reasonNotToLook } from '../../../evaluation/checks/tries/key-watch.ts';
import type { Secret } from '../../../support/redaction/redactor.ts';
import { countText } from '../../../support/text/figures.ts';
import { checkEnvironment } from './environment-check.ts';
import type { Finding } from './finding.ts';

/** Searches the processes of environments for keys of the operator, while the environments run for their own check. */
export class KeyCheck {
  readonly #keys: readonly Secret[];
  readonly #lookedAt: string[] = [];
  readonly #held = new Map<string, readonly HeldKey[]>();
  /** Reasons why an environment was not searched. */
  readonly #notTried = new Map<string, string>();

  constructor(keys: readonly Secret[]) {
    this.#keys = keys;
  }

  /** Runs `checkEnvironment` and searches for keys. */
  async check(name: string, target: EnvironmentTarget, timeoutMs: number): Promise<Finding> {
    const reason = reasonNotToLook(target, this.#keys);
    this.#notTried.set(name, reason ?? 'it did not start');
    if (reason !== undefined) return await checkEnvironment(name, target, { timeoutMs });
    const folder = mkdtempSync(join(tmpdir(), 'proctor-doctor-'));
    try {
      const watch = new KeyWatch(target, this.#keys, folder);
      const onUp = async () => {
        const { held, gap } = await watch.look();
        this.#lookedAt.push(name);
        if (held.length > 0) this.#held.set(name, held);
        if (gap === undefined) this.#notTried.delete(name);
        else this.#notTried.set(name, gap);
      };
      return await checkEnvironment(name, target, { timeoutMs, variables: watch.variables, onUp });
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  /** One line for all environments; undefined if there are none. */
  finding(): Finding | undefined {
    const notTried = [...this.#notTried].map(([name, reason]) => `${name} (${reason})`).sort();
    if (this.#lookedAt.length === 0 && notTried.length === 0) return undefined;
    const facts = {
      keys: this.#keys.length,
      looked_at: [...this.#lookedAt].sort(),
      held: Object.fromEntries([...this.#held].map(([name, held]) => [name, held.map(({ variable }) => variable)])),
      not_tried: Object.fromEntries(this.#notTried),
    };
    const lines = notTried.length === 0 ? {} : { lines: [`Not looked at to the end: ${notTried.join('; ')}`] };
    const told = [...this.#held].map(([name, held]) => `environment ${name}: ${describeHeld(held)}`);
    if (told.length > 0) return { name: 'secrets', status: 'fail', message: told.join(' '), facts, ...lines };
    if (this.#keys.length === 0) {
      const message = 'not tried: no key of a gateway, a trainer or the service is known that could be looked for';
      return { name: 'secrets', status: 'warn', message, facts };
    }
    const looked = `${countText(this.#keys.length, 'key')} looked for in ${countText(this.#lookedAt.length, 'environment')}`;
    const message = `${looked}: no process has one in its variables`;
    return { name: 'secrets', status: notTried.length === 0 ? 'ok' : 'warn', message, facts, ...lines };
  }
}
