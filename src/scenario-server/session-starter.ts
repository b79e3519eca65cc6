import type { JsonObject } from '../contract/json.ts';
import { checkSize } from '../contract/size-limits.ts';
import type { Models } from '../model/create-model.ts';
import type { ChatSession } from '../rollout/chat-session.ts';
import type { Scenarios } from './scenarios.ts';
import type { SessionRegistry } from './session-registry.ts';

export interface SessionStart {
  /** Account of the new session. */
  readonly account: string;
  /** A short or a full name. */
  readonly scenario: string;
  readonly args: JsonObject;
  /** Undefined: the server's. */
  readonly model: string | undefined;
  readonly maxSteps: number | undefined;
  readonly sampling: JsonObject;
}

export interface SessionStarterOptions {
  readonly scenarios: Scenarios;
  readonly registry: SessionRegistry;
  readonly models: Models;
  /** Where a session names none. */
  readonly defaults: { readonly model: string; readonly maxSteps: number };
}

/** Checks all that a session is made of before there is one. Every surface starts its sessions by it. */
export class SessionStarter {
  readonly #options: SessionStarterOptions;

  constructor(options: SessionStarterOptions) {
    this.#options = options;
  }

  /** @throws ApiError scenario_not_found, invalid_scenario_args, model_not_found, request_too_large, capacity_exceeded. */
  async start({ account, scenario, args, model, maxSteps, sampling }: SessionStart): Promise<ChatSession> {
    const { scenarios, registry, models, defaults } = this.#options;
    const name = model ?? defaults.model;
    const found = await scenarios.check(scenario, args);
    models.check(name);
    checkSize('sampling', sampling);
    return await registry.create({
      account,
      scenario: found,
      args,
      model: name,
      maxSteps: maxSteps ?? defaults.maxSteps,
      sampling,
    });
  }
}
