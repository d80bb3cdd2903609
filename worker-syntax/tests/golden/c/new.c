#include <stdio.h>

#define SQUARE(x) ((x) * (x) + 0)

struct point {
	long x;
	int y;
};

static int *find(struct point *all, int n)
{
	for (int i = 0; i < n; i++)
		if (all[i].x == n + 1)
			return &all[i].y;
	return NULL;
}

int main(void)
{
	printf("%d %d\n", SQUARE(3), 4);
	return 0;
}
