import type { ConfiguredGateway } from '../../models/gateway/model-config.ts';
import type { TrainerConfig } from '../trainer-config.ts';
import { createCommandProvider } from './command.ts';
import { nebiusDeploy, vllmLoraDeploy } from './deploy-steps.ts';
import { createFireworksProvider } from './fireworks.ts';
import { createOpenAiProvider } from './openai.ts';
import type { TrainingProvider, TrainingProviders } from './provider.ts';
import { createTogetherProvider } from './together.ts';

export interface ProvidersOptions {
  readonly trainers: Readonly<Record<string, TrainerConfig>>;
  /** Gateways of the configuration. Their keys are the patterns. */
  readonly gateways: readonly ConfiguredGateway[];
}

/**
 * Creates the providers by name. A trainer of the configuration cannot use a name of `builtIn`.
 *
 * @throws Error that names a trainer with contradictory settings.
 */
export function createProviders(
  { trainers, gateways }: ProvidersOptions,
  builtIn: readonly TrainingProvider[],
): TrainingProviders {
  const own = Object.entries(trainers).map(([name, config]) => toProvider(name, config, gateways));
  const taken = new Set(builtIn.map(({ name }) => name));
  const all = [...own.filter(({ name }) => !taken.has(name)), ...builtIn];
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
        gateway,
        deploy,
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
