/**
 * Histograms of positive values with a constant relative error: the bucket of a value is its
 * logarithm, rounded. Histograms of one kind merge by adding their counts.
 */

/** Buckets per e-fold: a bucket is 10 % wide, so its centre differs from a value by 5 % at most. */
export const bucketsPerFold = 10;
/** Values below are counted with it. */
export const minValue = 0.1;

/** The bucket of a value. */
export function bucketOf(value: number): number {
  return Math.round(Math.log(Math.max(value, minValue)) * bucketsPerFold);
}

/** The value in the centre of a bucket. */
export function centreOf(bucket: number): number {
  return Math.exp(bucket / bucketsPerFold);
}

/** The bucket of an SQL expression, as `bucketOf` computes it. */
export function bucketSql(value: string): string {
  return `round(ln(greatest((${value})::float8, ${minValue})) * ${bucketsPerFold})::smallint`;
}
