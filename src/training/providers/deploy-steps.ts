import { type Deployment, ProviderRefused, type TrainingWork } from './provider.ts';
import { askProvider, type ProviderAddress } from './provider-http.ts';
import { objectsIn, shortText, textIn } from './wire-values.ts';

/**
 * Makes a trained model answer. It is repeated until the model is ready, and finds a deployment that has already begun.
 */
export type DeployStep = (work: TrainingWork, target: string) => Promise<Deployment>;

/**
 * Nebius Token Factory: `POST /v0/models` turns a checkpoint into a model, whose name is in the reply.
 *
 * @param base the base model for inference, whose name may differ from that for training.
 */
export function nebiusDeploy(address: ProviderAddress, base?: string): DeployStep {
  const models = { ...address, url: address.url.replace(/\/v1$/, '/v0') };
  return async (work, target) => {
    const { signal } = work;
    const source = `${work.remote.job}:${target}`;
    const name = work.remote.deployment ?? (await findDeployed(models, source, signal)) ?? (await begin());
    if (work.remote.deployment === undefined) await work.keep({ deployment: name });
    const path = `/models/${encodeURIComponent(name)}`;
    const { body } = await askProvider(models, { method: 'GET', path, signal });
    const status = textIn(body, 'status');
    if (status !== 'error') return { target: name, isReady: status === 'active' };
    const said = shortText(textIn(body, 'status_reason') ?? 'it does not say why.');
    throw new ProviderRefused(
      'deploy_failed',
      `${address.name} could not serve ${name}: ${said} Deploy the checkpoint ${source} there, and register it with "proctor models add".`,
    );

    async function begin(): Promise<string> {
      await work.stillMine();
      const json = { name: work.name, base_model: base ?? work.base, source, description: work.jobId };
      const made = await askProvider(models, { method: 'POST', path: '/models', json, signal });
      return textIn(made.body, 'name') ?? work.name;
    }
  };
}

async function findDeployed(models: ProviderAddress, source: string, signal: AbortSignal): Promise<string | undefined> {
  const { body } = await askProvider(models, { method: 'GET', path: '/models', signal, allowed: [404, 405] });
  const found = objectsIn(body, 'data').find((model) => model.source === source);
  return found && textIn(found, 'name');
}

/**
 * vLLM with runtime LoRA: loads the adapter at the path `target`, which then answers under the name of the model.
 *
 * @param gateway the server, with its `/v1`.
 */
export function vllmLoraDeploy(gateway: ProviderAddress): DeployStep {
  return async (work, target) => {
    const json = { lora_name: work.name, lora_path: target };
    const { status, body } = await askProvider(gateway, {
      method: 'POST',
      path: '/load_lora_adapter',
      json,
      signal: work.signal,
      allowed: [400],
    });
    const said = JSON.stringify(body);
    // An earlier try loaded the adapter, but its answer got lost or this process restarted.
    if (status === 400 && !/already/i.test(said)) {
      throw new ProviderRefused(
        'deploy_failed',
        `${gateway.name} does not load the adapter ${target}: ${shortText(said)} Its server needs --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True, and has to see that path.`,
      );
    }
    return { target: work.name, isReady: true };
  };
}
