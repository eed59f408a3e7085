/**
 * Loaded by a gateway process before its own modules: it is killed before or after one of its writes about interns. They are
 * counted from the creation of an intern.
 */
import { StatementSync } from 'node:sqlite';

const wanted = process.env['HEADGATE_TEST_KILL_AT'];
const writes = /^(insert into|update|delete from) "(interns|vaults|vault_keys|keys|containers|container_leases)"/;
let count = 0;

for (const method of ['run', 'all'] as const) {
  const original = StatementSync.prototype[method];
  StatementSync.prototype[method] = function (this: StatementSync, ...values: never[]) {
    const [, verb, table] = writes.exec(this.sourceSQL) ?? [];
    const isCounted = verb !== undefined && (count > 0 || (verb === 'insert into' && table === 'interns'));
    if (!isCounted) return Reflect.apply(original, this, values);
    const point = ++count;
    if (wanted === `before ${point}`) process.kill(process.pid, 'SIGKILL');
    const result = Reflect.apply(original, this, values);
    if (wanted === `after ${point}`) process.kill(process.pid, 'SIGKILL');
    return result;
  } as never;
}
