package x;

public class X extends Base {
    private long count;

    public X(long count) {
        this.count = count;
    }

    @Override
    public String toString() {
        return "X:" + count;
    }

    enum Kind { A, B, C }
}
