import type { EnvironmentTarget } from '../client/environment-client.ts';
import type { Secret } from '../redaction/redactor.ts';
import { secretsOfHeaders, secretsOfVariables } from '../redaction/secrets.ts';
import type { Settings } from './settings.ts';

/** Every secret that an installation is told: by its variables, its configuration and its environments. */
export function knownSecrets(
  { settings, environments }: KnowsSecrets,
  variables: Readonly<Record<string, string | undefined>>,
): readonly Secret[] {
  return [
    ...secretsOfVariables(variables),
    ...secretsOfGateways(settings),
    ...Object.values(settings.trainers).flatMap(secretsOfTrainer),
    ...[...environments.values()].flatMap(secretsOfTarget),
    ...named('database_password', passwordOf(settings.databaseUrl)),
    ...named('queue_password', passwordOf(settings.queueUrl)),
  ];
}

interface KnowsSecrets {
  readonly settings: Pick<Settings, 'models' | 'trainers' | 'databaseUrl' | 'queueUrl' | 'apiKey'>;
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
  return trainer.kind === 'command' ? secretsOfVariables(trainer.env) : named('trainer_key', trainer.apiKey);
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
