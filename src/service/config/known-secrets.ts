import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import { isRedactable, type Secret } from '../../support/redaction/redactor.ts';
import { secretsOfHeaders, secretsOfVariables } from '../../support/redaction/secrets.ts';
import type { Settings } from './settings.ts';

/** All secrets of an installation: from variables, configuration and environments. */
export function knownSecrets(
  { settings, environments }: KnowsSecrets,
  variables: Readonly<Record<string, string | undefined>>,
): readonly Secret[] {
  return [
    ...secretsOfVariables(variables),
    ...secretsOfGateways(settings),
    ...Object.values(settings.trainers).flatMap(secretsOfTrainer),
    ...Object.values(settings.agents).flatMap(({ env }) => secretsOfVariables(env)),
    ...[...environments.values()].flatMap(secretsOfTarget),
    ...named('database_password', passwordOf(settings.databaseUrl)),
    ...named('queue_password', passwordOf(settings.queueUrl)),
  ];
}

/**
 * Known secrets that do not belong to an environment. They are never sent to a gateway or to a process of an
 * environment. A value that the configuration gives to an environment is part of its tasks, so it is not one of them.
 */
export function operatorSecrets(
  known: KnowsSecrets,
  variables: Readonly<Record<string, string | undefined>>,
): readonly Secret[] {
  const given = new Set([...known.environments.values()].flatMap((target) => Object.values(variablesOf(target))));
  return knownSecrets(known, variables).filter(({ value }) => !given.has(value));
}

/** Keys of gateways, trainers and the service. Keys that are short enough to be ordinary words are left out. */
export function operatorKeys(settings: KnowsSecrets['settings']): readonly Secret[] {
  const keys = [...secretsOfGateways(settings), ...Object.values(settings.trainers).flatMap(keyOfTrainer)];
  return keys.filter(({ value }) => isRedactable(value));
}

/**
 * A model drives the environment's process, so it must not see a key of a gateway, a trainer or the service (contract
 * section 12).
 *
 * @throws Error with the variable that would pass such a key.
 */
export function refuseKeysOfOthers({ settings, environments }: KnowsSecrets): void {
  const keys = operatorKeys(settings);
  for (const [name, target] of environments) {
    for (const [variable, value] of Object.entries(variablesOf(target))) {
      const key = keys.find((each) => each.value === value);
      if (key === undefined) continue;
      throw new Error(
        `environments.${name}.env gives ${variable} the value of ${key.name}: the process of an environment has no key of a gateway, a trainer or the service, because a model drives it. Give it a key of its own, or have its code ask models by ctx.sample.`,
      );
    }
  }
}

function variablesOf(target: EnvironmentTarget): Readonly<Record<string, string>> {
  return target.kind === 'module' || target.kind === 'command' ? (target.env ?? {}) : {};
}

interface KnowsSecrets {
  readonly settings: Pick<Settings, 'models' | 'trainers' | 'agents' | 'databaseUrl' | 'queueUrl' | 'apiKey'>;
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
}

function secretsOfGateways({ models, apiKey }: KnowsSecrets['settings']): readonly Secret[] {
  return [
    ...named('gateway_key', models.gatewayApiKey),
    ...(models.gateways ?? []).flatMap((gateway) => named('gateway_key', gateway.apiKey)),
    ...named('PROCTOR_API_KEY', apiKey),
  ];
}

function secretsOfTrainer(trainer: Settings['trainers'][string]): readonly Secret[] {
  return trainer.kind === 'command' ? secretsOfVariables(trainer.env) : keyOfTrainer(trainer);
}

function keyOfTrainer(trainer: Settings['trainers'][string]): readonly Secret[] {
  return trainer.kind === 'command' ? [] : named('trainer_key', trainer.apiKey);
}

function secretsOfTarget(target: EnvironmentTarget): readonly Secret[] {
  switch (target.kind) {
    case 'url':
      return [...named('harness_key', target.harnessKey), ...secretsOfHeaders(target.headers ?? {})];
    case 'memory':
      return [];
    default:
      return secretsOfVariables(target.env ?? {});
  }
}

function named(name: string, value: string | undefined): readonly Secret[] {
  return value === undefined ? [] : [{ name, value }];
}

function passwordOf(address: string | undefined): string | undefined {
  if (address === undefined || !URL.canParse(address)) return undefined;
  const { password } = new URL(address);
  try {
    return password === '' ? undefined : decodeURIComponent(password);
  } catch {
    return password;
  }
}
