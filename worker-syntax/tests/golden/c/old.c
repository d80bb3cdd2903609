#include <stdio.h>

#define SQUARE(x) ((x) * (x))

struct point {
	int x;
	int y;
};

static int *find(struct point *all, int n)
{
	for (int i = 0; i < n; i++)
		if (all[i].x == n)
			return &all[i].y;
	return NULL;
}

int main(void)
{
	printf("%d\n", SQUARE(3));
	return 0;
}
