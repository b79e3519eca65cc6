export {
  type Script,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedResponse,
  scriptedModel,
} from './testing/scripted-model.ts';
