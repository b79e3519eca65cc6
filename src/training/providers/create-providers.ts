import type { TrainerConfig } from '../../config/config-schema.ts';
import { IMITATION_PROVIDER } from '../../contract/training-states.ts';
import type { Database } from '../../database/database.ts';
import type { ConfiguredGateway } from '../../model/model-config.ts';
import { createImitationProvider } from '../imitation/imitation-provider.ts';
import type { TrainingProviders } from '../jobs/step-parts.ts';
import { createCommandProvider } from './command.ts';
import { nebiusDeploy, vllmLoraDeploy } from './deploy-steps.ts';
import { createFireworksProvider } from './fireworks.ts';
import { createOpenAiProvider } from './openai.ts';
import type { TrainingProvider } from './provider.ts';
import { createTogetherProvider } from './together.ts';

export interface ProvidersOptions {
  readonly trainers: Readonly<Record<string, TrainerConfig>>;
  /** Those of the configuration, whose patterns are their keys. */
  readonly gateways: readonly ConfiguredGateway[];
  readonly database: Database;
}

/** @throws Error that names a trainer whose settings do not fit together. */
export function createProviders({ trainers, gateways, database }: ProvidersOptions): TrainingProviders {
  const own = Object.entries(trainers).map(([name, config]) => toProvider(name, config, gateways));
  const all = [...own.filter(({ name }) => name !== IMITATION_PROVIDER), createImitationProvider(database)];
  return { all, find: (name) => all.find((provider) => provider.name === name) };
}

function toProvider(name: string, config: TrainerConfig, gateways: readonly ConfiguredGateway[]): TrainingProvider {
  const { gateway, deploy: step, deployBase } = config;
  const gatewayOf = (key: string | undefined) => gateways.find(({ pattern }) => pattern === key);
  if (gateway !== undefined && gatewayOf(gateway) === undefined) {
    const known = gateways.map(({ pattern }) => pattern).join(', ') || 'none';
    throw new Error(
      `trainers.${name}.gateway is ${JSON.stringify(gateway)}: it has to be a key of "gateways" (there are ${known}).`,
    );
  }
  const toDeploy = () => {
    if (step === 'none') return undefined;
    if (step === 'nebius') {
      if (config.kind !== 'openai')
        throw new Error(`trainers.${name}.deploy is "nebius": its kind has to be "openai".`);
      return nebiusDeploy(toAddress(name, config), deployBase);
    }
    const server = gatewayOf(gateway);
    if (server === undefined)
      throw new Error(`trainers.${name}.deploy is "vllm-lora": its gateway has to name the server.`);
    return vllmLoraDeploy(toAddress(gateway ?? '', { url: server.baseUrl, apiKey: server.apiKey }));
  };
  const deploy = toDeploy();
  switch (config.kind) {
    case 'openai':
      return createOpenAiProvider({
        ...toAddress(name, config),
        ...{ gateway, deploy },
        hyperparameters: step === 'nebius' ? 'top' : 'method',
      });
    case 'together':
      return createTogetherProvider({ ...toAddress(name, config), gateway, ...(deploy && { deploy }) });
    case 'fireworks':
      return createFireworksProvider({ ...toAddress(name, config), gateway, ...(deploy && { deploy }) });
    case 'command': {
      const { command, env } = config;
      const gatewayAt = (url: string) =>
        gateways.find(({ baseUrl }) => withoutSlash(baseUrl) === withoutSlash(url))?.pattern;
      return createCommandProvider({ name, command, env, gateway, deploy, gatewayAt });
    }
  }
}

function toAddress(name: string, { url, apiKey }: { readonly url: string; readonly apiKey?: string | undefined }) {
  return { name, url: withoutSlash(url), apiKey };
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
