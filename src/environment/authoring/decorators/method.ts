/** A method of a class as a decorator sees it. */
export type Method<This, Args extends unknown[], Result> = (this: This, ...args: Args) => Result;

/** The context of a decorator on a public method that is not static. `This` is the type that the class must have. */
export type MethodContext<This, Args extends unknown[], Result> = ClassMethodDecoratorContext<
  This,
  Method<This, Args, Result>
> & { readonly static: false; readonly private: false };

/**
 * Registers a decorated method on every new instance of its class, after `super()` and before the fields. The method is
 * looked up at each call, so an override in a subclass is called instead. If the override is decorated too, only the
 * override is registered.
 *
 * @throws TypeError under `experimentalDecorators`, and unless it is a public method of instances.
 */
export function registerMethod<This extends object, Args extends unknown[], Result>(
  decorator: string,
  method: Method<This, Args, Result>,
  context: MethodContext<This, Args, Result>,
  register: (instance: This, call: (...args: Args) => Result, name: string) => void,
): void {
  checkContext(decorator, context);
  Object.defineProperty(method, DECORATED, { value: true });
  context.addInitializer(function () {
    const current = context.access.get(this);
    if (current !== method && DECORATED in current) return;
    register(this, (...args) => context.access.get(this).apply(this, args), String(context.name));
  });
}

// A property of the function, not a map in this module, because a class and its base may have loaded different copies
// of this module.
const DECORATED = Symbol.for('proctor.decorated');

function checkContext(decorator: string, context: unknown): void {
  if (typeof context !== 'object' || context === null || !('kind' in context)) {
    throw new TypeError(
      `@${decorator} is a standard decorator: remove "experimentalDecorators" from the compiler options (tsconfig.json)`,
    );
  }
  const { kind, name, static: isStatic, private: isPrivate } = context as ClassMethodDecoratorContext;
  if (kind === 'method' && !isStatic && !isPrivate) return;
  throw new TypeError(`@${decorator} belongs on a public method that is not static, not on ${String(name)}`);
}
