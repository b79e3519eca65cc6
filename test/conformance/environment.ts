import { setTimeout as delay } from 'node:timers/promises';
import { audio, EnvironmentServer, embeddedResource, image, serveMain, type ToolContext, ToolError } from 'proctor';
import { z } from 'zod';

// What the conformance suite of MCP asks a server for, under the names that it asks by. `fixtures.test.ts` holds that each
// is here: many of the suite's checks pass on a server that lacks them.

/** A red point. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
/** Half a millisecond of silence. */
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';
const STEP_MS = 50;

const asksFor = (properties: Record<string, object>, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
});
const NAME = asksFor({ name: { type: 'string' } });

class Conformance extends EnvironmentServer {
  #changes = 0;

  constructor() {
    super({ name: 'conformance', version: '1.0.0' });
    this.#addContentTools();
    this.#addRunningTools();
    this.#addAskingTools();
    this.#addElicitationSchemas();
    this.#addInputRequiredTools();
    this.#addResources();
    this.#addPrompts();
  }

  #addContentTools(): void {
    this.tool('test_simple_text', { description: 'Text.' }, () => 'This is a simple text response for testing.');
    this.tool('test_image_content', { description: 'An image.' }, () => image(PNG, 'image/png'));
    this.tool('test_audio_content', { description: 'A sound.' }, () => audio(WAV, 'audio/wav'));
    this.tool('test_embedded_resource', { description: 'A resource inside of a result.' }, () =>
      embeddedResource('test://embedded-resource', 'This is an embedded resource content.'),
    );
    this.tool('test_multiple_content_types', { description: 'Text, an image and a resource.' }, () => [
      { type: 'text', text: 'Multiple content types test:' },
      image(PNG, 'image/png'),
      embeddedResource('test://mixed-content-resource', JSON.stringify({ test: 'data', value: 123 }), {
        mimeType: 'application/json',
      }),
    ]);
    this.tool('test_error_handling', { description: 'Fails.' }, () => {
      throw new ToolError('This tool intentionally returns an error for testing');
    });
    this.tool(
      'json_schema_2020_12_tool',
      { description: 'Tool with JSON Schema 2020-12 features', args: JSON_SCHEMA_2020_12 },
      (args) => args,
    );
    const annotated = { region: z.string().meta({ 'x-mcp-header': 'Region' }), query: z.string().default('') };
    this.tool('test_custom_header', { description: 'Routed by an argument.', args: annotated }, (args) => args);
  }

  #addRunningTools(): void {
    this.tool('test_tool_with_logging', { description: 'Logs three times.' }, async (_args, { log }) => {
      log('Tool execution started');
      await delay(STEP_MS);
      log('Tool processing data');
      await delay(STEP_MS);
      log('Tool execution completed');
      return 'Logged three times.';
    });
    this.tool('test_tool_with_progress', { description: 'Reports progress.' }, async (_args, { progress }) => {
      progress(0);
      await delay(STEP_MS);
      progress(50);
      await delay(STEP_MS);
      progress(100);
      return 'Reported progress.';
    });
    this.tool('test_reconnection', { description: 'Takes a while.' }, async (_args, { log, progress }) => {
      log('Working');
      progress(50);
      await delay(STEP_MS);
      return 'Reconnection test completed successfully.';
    });
    this.tool('test_logging_tool', { description: 'Logs.' }, (_args, { log }) => {
      log('Logged');
      return 'Logged.';
    });
    this.tool('test_trigger_tool_change', { description: 'Changes the list of tools.' }, () => {
      this.#changes += 1;
      this.removeTool(`test_changed_${this.#changes - 1}`);
      this.tool(`test_changed_${this.#changes}`, { description: 'Was not there before.' }, () => 'new');
      return 'Changed.';
    });
    this.tool('test_trigger_prompt_change', { description: 'Changes the list of prompts.' }, () => {
      this.#changes += 1;
      this.removePrompt(`test_changed_${this.#changes - 1}`);
      this.removePrompt(`test_changed_${this.#changes}`);
      this.prompt(`test_changed_${this.#changes}`, { description: `Change ${this.#changes}.` }, () => 'new');
      return 'Changed.';
    });
    this.tool('test_update_resource', { description: 'Updates the watched resource.' }, () => {
      this.notifyResourceUpdated('test://watched-resource');
      return 'Updated.';
    });
  }

  #addAskingTools(): void {
    const prompt = z.string().describe('What to ask the model.');
    this.tool('test_sampling', { description: 'Asks the model.', args: { prompt } }, async (args, { sample }) => {
      const { content } = await sample({ messages: [{ role: 'user', content: args.prompt }], maxTokens: 100 });
      return `LLM response: ${content.text}`;
    });
    const message = z.string().describe('What to show the person.');
    this.tool('test_elicitation', { description: 'Asks the person.', args: { message } }, async (args, { elicit }) => {
      const requestedSchema = asksFor({
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      });
      const { action, content } = await elicit({ message: args.message, requestedSchema });
      return `User response: <action: ${action}, content: ${JSON.stringify(content ?? {})}>`;
    });
    this.tool('test_missing_capability', { description: 'Needs sampling.' }, async (_args, { sample }) => {
      await sample({ messages: [{ role: 'user', content: 'Hello' }], maxTokens: 10 });
      return 'Sampled.';
    });
    this.tool('test_streaming_elicitation', { description: 'Asks on a stream.' }, async (_args, context) => {
      context.progress(10);
      const { action } = await context.elicit({ message: 'Who is there?', requestedSchema: NAME });
      return `Answered: ${action}`;
    });
  }

  #addElicitationSchemas(): void {
    const ask = async ({ elicit }: ToolContext, message: string, properties: Record<string, object>) => {
      const { action, content } = await elicit({ message, requestedSchema: asksFor(properties, []) });
      return `Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`;
    };
    this.tool('test_elicitation_sep1034_defaults', { description: 'Asks with defaults.' }, (_args, context) =>
      ask(context, 'Please look through the defaults', {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      }),
    );
    const titles = (kind: string) =>
      ['First', 'Second', 'Third'].map((nth, index) => ({ const: `value${index + 1}`, title: `${nth} ${kind}` }));
    this.tool('test_elicitation_sep1330_enums', { description: 'Asks for choices.' }, (_args, context) =>
      ask(context, 'Please choose', {
        untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
        titledSingle: { type: 'string', oneOf: titles('Option') },
        legacyEnum: {
          type: 'string',
          enum: ['opt1', 'opt2', 'opt3'],
          enumNames: ['Option One', 'Option Two', 'Option Three'],
        },
        untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
        titledMulti: { type: 'array', items: { anyOf: titles('Choice') } },
      }),
    );
  }

  #addInputRequiredTools(): void {
    const askName = ({ elicit }: ToolContext) =>
      elicit({ key: 'user_name', message: 'What is your name?', requestedSchema: NAME });
    const confirm = ({ elicit }: ToolContext) =>
      elicit({
        key: 'confirm',
        message: 'Please confirm',
        requestedSchema: asksFor({ ok: { type: 'boolean' } }),
      });
    const named = (name: string, run: (context: ToolContext) => Promise<string>) =>
      this.tool(`test_input_required_result_${name}`, { description: 'Asks its client.' }, (_args, context) =>
        run(context),
      );

    named('elicitation', async (context) => `Hello, ${(await askName(context)).content?.name}!`);
    named('sampling', async ({ sample }) => {
      const messages = [{ role: 'user', content: 'What is the capital of France?' }] as const;
      return String((await sample({ key: 'capital_question', messages, maxTokens: 100 })).content.text);
    });
    named('list_roots', async ({ roots }) => JSON.stringify(await roots({ key: 'client_roots' })));
    named('request_state', async (context) => `state-ok: ${(await confirm(context)).action}`);
    named('tampered_state', async (context) => `untouched: ${(await confirm(context)).action}`);
    named('multiple_inputs', async (context) => {
      const messages = [{ role: 'user', content: 'Generate a greeting' }] as const;
      const [name, greeting, folders] = await Promise.all([
        askName(context),
        context.sample({ key: 'greeting', messages, maxTokens: 50 }),
        context.roots({ key: 'client_roots' }),
      ]);
      return `${greeting.content.text} ${name.content?.name}, of ${folders.length} roots`;
    });
    named('multi_round', async ({ elicit }) => {
      const first = await elicit({ key: 'step1', message: 'Step 1: What is your name?', requestedSchema: NAME });
      const second = await elicit({
        key: 'step2',
        message: 'Step 2: What is your favorite color?',
        requestedSchema: asksFor({ color: { type: 'string' } }),
      });
      return `${first.content?.name} likes ${second.content?.color}`;
    });
    named('capabilities', async (context) => {
      if (context.capabilities.elicitation) await askName(context);
      if (!context.capabilities.sampling) return 'This client offers no sampling.';
      const messages = [{ role: 'user', content: 'Hello' }] as const;
      return String((await context.sample({ messages, maxTokens: 10 })).content.text);
    });
  }

  #addResources(): void {
    this.resource('test://static-text', { description: 'Text.' }, () => {
      return 'This is the content of the static text resource.';
    });
    this.resource('test://static-binary', { mimeType: 'image/png', description: 'Bytes.' }, () =>
      Buffer.from(PNG, 'base64'),
    );
    const ids = ['123', '124', '200'];
    this.resource(
      'test://template/{id}/data',
      { name: 'data', mimeType: 'application/json', description: 'By id.', complete: { id: ids } },
      ({ id }) => ({ id, templateTest: true, data: `Data for ID: ${id}` }),
    );
    this.resource('test://watched-resource', { description: 'Changes.' }, () => 'Watched.');
    this.resource('test://example-resource', { description: 'An example.' }, () => 'An example.');
  }

  #addPrompts(): void {
    this.prompt('test_simple_prompt', { description: 'Text.' }, () => 'This is a simple prompt for testing.');
    this.prompt(
      'test_prompt_with_arguments',
      {
        description: 'With arguments.',
        args: { arg1: z.string().describe('First test argument'), arg2: z.string().describe('Second test argument') },
        complete: { arg1: ['paris', 'park', 'party'] },
      },
      ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
    );
    this.prompt(
      'test_prompt_with_embedded_resource',
      { description: 'With a resource.', args: { resourceUri: z.string().describe('URI of the resource to embed') } },
      ({ resourceUri }) => [
        { role: 'user', content: embeddedResource(resourceUri, 'Embedded resource content for testing.') },
        { role: 'user', content: 'Please process the embedded resource above.' },
      ],
    );
    this.prompt('test_prompt_with_image', { description: 'With an image.' }, () => [
      { role: 'user', content: image(PNG, 'image/png') },
      { role: 'user', content: 'Please analyze the image above.' },
    ]);
    this.prompt('test_input_required_result_prompt', { description: 'Asks its client.' }, async (_args, { elicit }) => {
      const { content } = await elicit({
        key: 'user_context',
        message: 'What context should the prompt use?',
        requestedSchema: asksFor({ context: { type: 'string' } }),
      });
      return `With this in mind: ${content?.context}`;
    });
  }
}

const JSON_SCHEMA_2020_12 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  // biome-ignore-start lint/suspicious/noThenProperty: it is a keyword of JSON Schema
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  then: { required: ['phone'] },
  else: { required: ['email'] },
  // biome-ignore-end lint/suspicious/noThenProperty: it is a keyword of JSON Schema
  additionalProperties: false,
} as const;

serveMain(import.meta, Conformance);

export default Conformance;
