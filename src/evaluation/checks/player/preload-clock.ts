/** Loaded into an environment's process before its code. Shifts the clock to another day, but not the timers. */
const shift = Number(process.env.CHECK_CLOCK_SHIFT_MS ?? 0);
const RealDate = Date;
const now = () => RealDate.now() + shift;

if (shift !== 0) {
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, given, newTarget) => Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget),
    // `Date()` without `new` returns a text.
    apply: () => new RealDate(now()).toString(),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
}
