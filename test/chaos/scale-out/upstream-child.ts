/**
 * An upstream of the scale-out drill on the address `HOST PORT` of its arguments. Prints a line when
 * it listens, and one for each request; ends with its standard input.
 */
import { startUpstream } from '../../harness/upstream.ts';
import { scriptedReply } from '../orders.ts';

const [host = '', port = ''] = process.argv.slice(2);
const upstream = await startUpstream({ host, port: Number(port) });
upstream.respond(({ body }) => {
  process.stdout.write('request\n');
  return scriptedReply(body);
});
process.stdin.resume().on('close', () => process.exit(0));
process.stdout.write('listens\n');
