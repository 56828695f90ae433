/* A process of S3rver with the bucket `backups`; prints its port. The first argument is its folder. */
import S3rver from '@20minutes/s3rver';

const server = new S3rver({
  address: '127.0.0.1',
  port: 0,
  silent: true,
  vhostBuckets: false,
  directory: process.argv[2],
  configureBuckets: [{ name: 'backups' }],
});
const { port } = await server.run();
process.stdout.write(`${port}\n`);
process.on('disconnect', () => process.exit());
