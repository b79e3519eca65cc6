import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { Child } from '../environment/server/child.ts';
import { connect, connectInMemory, textOf } from '../environment/server/clients.ts';
import { until } from '../until.ts';
import Conformance from './environment.ts';

// The suite passes many of its checks on a server that lacks what they are about: "not found" is an answer too.
const TOOLS = [
  'test_simple_text',
  'test_image_content',
  'test_audio_content',
  'test_embedded_resource',
  'test_multiple_content_types',
  'test_tool_with_logging',
  'test_tool_with_progress',
  'test_error_handling',
  'test_sampling',
  'test_elicitation',
  'test_elicitation_sep1034_defaults',
  'test_elicitation_sep1330_enums',
  'test_reconnection',
  'json_schema_2020_12_tool',
  'test_custom_header',
  'test_input_required_result_elicitation',
  'test_input_required_result_sampling',
  'test_input_required_result_list_roots',
  'test_input_required_result_request_state',
  'test_input_required_result_multiple_inputs',
  'test_input_required_result_multi_round',
  'test_input_required_result_tampered_state',
  'test_input_required_result_capabilities',
  'test_missing_capability',
  'test_streaming_elicitation',
  'test_logging_tool',
  'test_trigger_tool_change',
  'test_trigger_prompt_change',
];
const RESOURCES = ['test://static-text', 'test://static-binary', 'test://watched-resource', 'test://example-resource'];
const PROMPTS = [
  'test_simple_prompt',
  'test_prompt_with_arguments',
  'test_prompt_with_embedded_resource',
  'test_prompt_with_image',
  'test_input_required_result_prompt',
];

describe.each(['legacy', 'modern'] as const)(
  'the environment that the conformance suite judges, on the %s era',
  (mode) => {
    it('has every fixture by its exact name', async () => {
      const client = await connectInMemory(Conformance, { mode });
      const named = (things: readonly { readonly name: string }[]) => things.map(({ name }) => name);
      expect(named((await client.listTools()).tools)).toEqual(expect.arrayContaining(TOOLS));
      expect(named((await client.listPrompts()).prompts)).toEqual(expect.arrayContaining(PROMPTS));
      const { resources } = await client.listResources();
      expect(resources.map(({ uri }) => uri)).toEqual(expect.arrayContaining(RESOURCES));
      const { resourceTemplates } = await client.listResourceTemplates();
      expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(['test://template/{id}/data']);
    });

    it('completes an argument and a variable', async () => {
      const client = await connectInMemory(Conformance, { mode });
      const ref = { type: 'ref/prompt', name: 'test_prompt_with_arguments' } as const;
      const { completion } = await client.complete({ ref, argument: { name: 'arg1', value: 'par' } });
      expect(completion.values).toEqual(['paris', 'park', 'party']);
      const template = { type: 'ref/resource', uri: 'test://template/{id}/data' } as const;
      const ids = await client.complete({ ref: template, argument: { name: 'id', value: '12' } });
      expect(ids.completion.values).toEqual(['123', '124']);
    });
  },
);

const PROGRAM = fileURLToPath(new URL('./environment.ts', import.meta.url));

// The suite speaks HTTP alone.
describe.each(['legacy', 'modern'] as const)(
  'the same environment over standard input and output, on the %s era',
  (mode) => {
    it('asks its client, several times in one call, and tells it of changes', async () => {
      const transport = new Child(['--import', 'tsx', PROGRAM]);
      const client = await connect(transport, { mode, capabilities: { elicitation: {}, sampling: {}, roots: {} } });
      client.setRequestHandler('elicitation/create', ({ params }) => ({
        action: 'accept',
        content: params.message.includes('color') ? { color: 'blue' } : { name: 'Ada' },
      }));
      const rounds = await client.callTool({ name: 'test_input_required_result_multi_round' });
      expect(textOf(rounds)).toBe('Ada likes blue');
      const heard: string[] = [];
      client.setNotificationHandler('notifications/tools/list_changed', () => void heard.push('tools'));
      client.setNotificationHandler('notifications/resources/updated', ({ params }) => void heard.push(params.uri));
      const uri = 'test://watched-resource';
      if (mode === 'legacy') await client.subscribeResource({ uri });
      else await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
      await client.callTool({ name: 'test_update_resource' });
      await client.callTool({ name: 'test_trigger_tool_change' });
      await until(() => heard.length >= 2);
      expect(heard).toEqual([uri, 'tools']);
    });
  },
);
