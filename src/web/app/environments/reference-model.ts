/** Those of Proctor, such as `proctor/oracle`: they tell of the scenario, not of a model. */
export function isReferenceModel(model: string): boolean {
  return model.startsWith('proctor/');
}
